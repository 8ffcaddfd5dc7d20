package sensor

import (
	"math"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// selfAttention among tokens h [..., tokens, in]: [..., tokens, width], the input of the
// output map of the attention. first maps the tokens to queries, keys and values,
// without the biases. The bias of the keys would add the same number to all scores of a
// query, which the softmax ignores: it is left out and has no gradient.
func (n Network) selfAttention(name string, h *graph.Node, first func(name string, h *graph.Node) *graph.Node) *graph.Node {
	query := plus(first(name+".query", h), n.bias(name+".query"))
	value := plus(first(name+".value", h), n.bias(name+".value"))
	return n.attend(query, first(name+".key", h), value)
}

// attend is softmax(QKᵀ/√w)V for query, key and value [..., tokens, width], with heads
// of width w side by side: [..., tokens, width].
func (n Network) attend(query, key, value *graph.Node) *graph.Node {
	heads := n.config.Heads
	dimensions := query.Shape().Dimensions
	tokens, width := dimensions[len(dimensions)-2], dimensions[len(dimensions)-1]
	head := width / heads
	split := func(x *graph.Node) *graph.Node { return graph.Reshape(x, -1, tokens, heads, head) }
	query = graph.MulScalar(split(query), 1/math.Sqrt(float64(head)))
	scores := layers.Softmax(n.precision.Einsum("nqhd,nkhd->nhqk", query, split(key)))
	return graph.Reshape(n.precision.Einsum("nhqk,nkhd->nqhd", scores, split(value)), dimensions...)
}
