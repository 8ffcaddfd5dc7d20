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
// initially zero, and so is v. Of pairs see pairs.go.
func (n Network) Velocity(z, x, t *graph.Node) *graph.Node {
	c := n.config
	functions, samples := x.Shape().Dimensions[0], x.Shape().Dimensions[1]
	if c.Decoder != Flat {
		x = graph.Reshape(x, functions, samples, c.tokens(), c.token())
	}
	seen := x // what a token knows of itself
	if c.Decoder == Pairs {
		seen = n.radial(graph.ReduceSum(graph.Mul(x, x), -1))
	}
	tau := layers.Embed(graph.ExpandAxes(t, -1), layers.Frequencies(c.TimeEmbedding/2, c.FMin, c.FMax))
	context := n.context(z, tau, x.Rank())
	input := n.weight("decoder.input")
	in := seen.Shape().Dimensions[seen.Rank()-1]
	fromTime := plus(n.times(tau, rows(input, in, in+c.TimeEmbedding)), n.bias("decoder.input"))
	h := graph.Add(n.times(seen, rows(input, 0, in)), context.spread(fromTime))
	if c.Decoder == Pairs {
		return graph.Reshape(n.push(h, x, t, context), functions, samples, c.Dimension)
	}
	for i := range c.DecoderBlocks {
		if b := n.block(i, context); c.Decoder == Equivariant {
			h = b.forward(b.attention(h))
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

// attention is the first branch of a block of particles, of h [n, S, particles, D]:
//
//	h′ = h + α⊙SA(N₀(h))
func (b block) attention(h *graph.Node) *graph.Node {
	u := b.selfAttention(b.name+".attention", b.normalise(0, h), b.first)
	return graph.Add(h, b.last(b.name+".attention.output", u, 0))
}

// forward is the second branch, for each token:
//
//	h⁺ = h′ + α⊙W₂ Mish(W₁ N₁(h′))
func (b block) forward(h *graph.Node) *graph.Node {
	u := layers.Mish(plus(b.first(b.name+".hidden", b.normalise(1, h)), b.bias(b.name+".hidden")))
	return graph.Add(h, b.last(b.name+".output", u, b.config.DecoderWidth))
}
