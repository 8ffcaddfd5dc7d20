package sensor

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// perceive returns z of e [n, m, width]. Learned tokens Z attend to the sensors
// E = e P_e in blocks with LayerNorm after every sum,
//
//	Z′ = LN(Z + CA(Z, E)), Z″ = LN(Z′ + SA(Z′)), Z⁺ = LN(Z″ + MLP(Z″)),
//
// and z is an affine map of all tokens of the last block side by side. CA and SA are
// cross- and self-attention, MLP is dense, GELU, dense.
func (n Network) perceive(e *graph.Node) *graph.Node {
	c, functions := n.config, e.Shape().Dimensions[0]
	z := graph.BroadcastToDims(graph.ExpandAxes(n.parameters["perceiver.latents"], 0), functions, c.Latents, c.Width)
	for i := range c.EncoderBlocks {
		block := fmt.Sprintf("perceiver.block%d", i)
		z = n.norm(block+".norm0", graph.Add(z, n.crossAttention(block+".cross", z, e)))
		read := n.selfAttention(block+".self", z, func(name string, h *graph.Node) *graph.Node { return n.times(h, n.weight(name)) })
		z = n.norm(block+".norm1", graph.Add(z, n.dense(block+".self.output", read)))
		z = n.norm(block+".norm2", graph.Add(z, n.perceptron(block, z)))
	}
	return n.dense("perceiver.output", graph.Reshape(z, functions, c.Latents*c.Width))
}

// crossAttention of the tokens z [n, k, width] to the sensors E = e P_e. For the query q
// of a token and a head, and the head's columns of the weights, score and result are
//
//	q·(e_i P_e W_K + b_K) = (P_e W_K qᵀ)·e_i + const
//	Σ_i a_i (e_i P_e W_V + b_V) = (Σ_i a_i e_i) P_e W_V + b_V, since Σ_i a_i = 1
//
// so E, keys and values are never computed for the sensors. Instead the few tokens are
// mapped to the space of e and back, with a tenth of the operations. The softmax ignores
// the constant, and with it the bias of the keys, which has no gradient.
func (n Network) crossAttention(name string, z, e *graph.Node) *graph.Node {
	c, functions, heads := n.config, e.Shape().Dimensions[0], n.config.Heads
	head, embedding := c.Width/heads, c.embedding()
	embed := n.weight("perceiver.embed")
	key := graph.Reshape(n.times(embed, n.weight(name+".key")), embedding, heads, head)
	value := graph.Reshape(n.times(embed, n.weight(name+".value")), embedding, heads, head)

	query := graph.Reshape(n.dense(name+".query", z), functions, c.Latents, heads, head)
	query = graph.MulScalar(query, 1/math.Sqrt(float64(head)))
	query = graph.Reshape(n.precision.Einsum("nkhd,ehd->nhke", query, key), functions, heads*c.Latents, embedding)
	scores := layers.Softmax(n.precision.Einsum("nqe,nme->nqm", query, e))
	read := graph.Reshape(n.precision.Einsum("nqm,nme->nqe", scores, e), functions, heads, c.Latents, embedding)
	mixed := graph.Reshape(n.precision.Einsum("nhke,ehd->nkhd", read, value), functions, c.Latents, c.Width)
	return n.dense(name+".output", plus(mixed, n.bias(name+".value")))
}
