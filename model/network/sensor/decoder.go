package sensor

import (
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// Velocity returns v [n, S, d] at states x [n, S, d] and times t [n, S] or
// [n, 1] of the functions with codes z [n, Width]: with the embedding τ of t,
//
//	h = W_in[x; τ] + b_in, then blocks, then v = W_v LN(h) + b_v,
//
// for the whole state, or for each particle with the same weights. W_v and b_v are
// initially zero, and so is v.
func (n Network) Velocity(z, x, t *graph.Node) *graph.Node {
	c := n.config
	functions, samples := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	if c.Decoder == Equivariant {
		x = graph.Reshape(x, functions, samples, c.tokens(), c.token())
	}
	tau := layers.Embed(graph.ExpandAxes(t, -1), layers.Frequencies(c.TimeEmbedding/2, c.FMin, c.FMax))
	context := n.context(z, tau, x.Rank())
	input := n.weight("decoder.input")
	fromTime := plus(n.times(tau, rows(input, c.token(), c.token()+c.TimeEmbedding)), n.bias("decoder.input"))
	h := graph.Add(n.times(x, rows(input, 0, c.token())), context.spread(fromTime))
	for i := range c.DecoderBlocks {
		b := n.block(i, context)
		if c.Decoder == Equivariant {
			h = b.attention(h)
		} else {
			h = b.residual(h)
		}
	}
	v := n.dense("decoder.output", n.norm("decoder.norm", h))
	return graph.Reshape(v, functions, samples, c.Dimension)
}

// residual is the block of a flat decoder, of h [n, S, D]:
//
//	h′ = Mish(N₀(h)), h″ = Mish(N₁(W₁h′)), h⁺ = h + α⊙W₂h″
func (b block) residual(h *graph.Node) *graph.Node {
	u := layers.Mish(b.normalise(0, h))
	u = plus(b.first(b.name+".hidden", u), b.bias(b.name+".hidden"))
	u = layers.Mish(b.normalise(1, u))
	return graph.Add(h, b.last(b.name+".output", u, 0))
}

// attention is the block of particles, of h [n, S, particles, D]:
//
//	h′ = h + α⊙SA(N₀(h)), h⁺ = h′ + α⊙W₂ Mish(W₁ N₁(h′))
func (b block) attention(h *graph.Node) *graph.Node {
	u := b.selfAttention(b.name+".attention", b.normalise(0, h), b.first)
	h = graph.Add(h, b.last(b.name+".attention.output", u, 0))
	u = layers.Mish(plus(b.first(b.name+".hidden", b.normalise(1, h)), b.bias(b.name+".hidden")))
	return graph.Add(h, b.last(b.name+".output", u, b.config.DecoderWidth))
}
