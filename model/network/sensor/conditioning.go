package sensor

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// A block of the decoder has two LayerNorms and one or two residual branches.
// The context c acts on them by one of
//
//	adaln   LN(h) becomes (1 + γ)⊙LN(h) + β for both norms, and the output of a
//	        branch is multiplied by α, one for the block; γ, β, α affine in c
//	film    the same without α
//	concat  c is appended to the input of a branch's first map
//	dot     the input of a branch's last map is multiplied by g, affine in c
//
// Norms that c does not modulate have a gain and a bias as parameters.

// modulations is how many vectors of the decoder's width a block computes from c.
func (c Config) modulations() int {
	switch c.Conditioning {
	case AdaLN:
		return 5
	case FiLM:
		return 4
	case Dot:
		if c.Decoder == Flat {
			return 1
		}
		return 1 + c.FeedForward // attention or messages, and feed-forward
	}
	return 0
}

// plainNorms reports whether the norms of a block have gain and bias as parameters.
func (c Config) plainNorms() bool { return c.Conditioning == Concat || c.Conditioning == Dot }

// codeAndTime is the context c = W_c[z; τ] + b_c of n functions with T times each. A block uses only
// affine maps of c, so that c is never computed for every time:
// c·w = (z W_z + b_c)·w + τ(W_τ w). The first part is computed once for each function,
// and W_τ w once if there are more times than columns.
type codeAndTime struct {
	Network
	code *graph.Node // z W_z + b_c, [n, Width]
	tau  *graph.Node // [n, T, time embedding]
	time *graph.Node // W_τ
	rank int         // of the decoder's hidden states
}

func (n Network) context(z, tau *graph.Node, rank int) codeAndTime {
	weight, width := n.weight("decoder.context"), n.config.Width
	return codeAndTime{
		Network: n,
		code:    plus(n.times(z, rows(weight, 0, width)), n.bias("decoder.context")),
		tau:     tau,
		time:    rows(weight, width, width+n.config.TimeEmbedding),
		rank:    rank,
	}
}

// into returns c·w for w [Width, k], in a shape that broadcasts to hidden states.
func (c codeAndTime) into(w *graph.Node) *graph.Node {
	return c.spread(graph.Add(graph.ExpandAxes(c.times(c.code, w), 1), c.chain(c.tau, c.time, w)))
}

// spread gives x [n, T, k] axes of length 1 for the tokens of a state.
func (c codeAndTime) spread(x *graph.Node) *graph.Node {
	for x.Rank() < c.rank {
		x = graph.ExpandAxes(x, 2)
	}
	return x
}

// chain is x·a·b over the last axis of x, in the order that takes fewer
// operations.
func (n Network) chain(x, a, b *graph.Node) *graph.Node {
	in, inner, out := a.Shape().Dimensions[0], a.Shape().Dimensions[1], b.Shape().Dimensions[1]
	rows := x.Shape().Size() / in
	if rows*inner*(in+out) <= in*out*(inner+rows) {
		return n.times(n.times(x, a), b)
	}
	return n.times(x, n.times(a, b))
}

// block is one block of the decoder with its modulations by c; those that the
// conditioning does not have are nil.
type block struct {
	Network
	name     string
	context  codeAndTime
	gain     [2]*graph.Node // 1 + γ of both norms
	shift    [2]*graph.Node // β
	gate     *graph.Node    // α
	features *graph.Node    // g
}

func (n Network) block(i int, c codeAndTime) block {
	b := block{Network: n, name: fmt.Sprintf("decoder.block%d", i), context: c}
	if n.config.modulations() == 0 {
		return b
	}
	name, width := b.name+".modulation", n.config.DecoderWidth
	weight, bias := n.weight(name), n.bias(name)
	// Each part has its own product. The gradient of a slice of one large product would
	// be padded with zeros to its size.
	part := func(j int) *graph.Node {
		columns := graph.AxisRange(j*width, (j+1)*width)
		return plus(c.into(graph.Slice(weight, graph.AxisRange(), columns)), graph.Slice(bias, columns))
	}
	switch n.config.Conditioning {
	case Dot:
		b.features = plus(c.into(weight), bias)
	case AdaLN:
		b.gate = part(4)
		fallthrough
	case FiLM:
		for k := range b.gain {
			b.gain[k], b.shift[k] = graph.OnePlus(part(2*k)), part(2*k+1)
		}
	}
	return b
}

// normalise is the block's k-th LayerNorm.
func (b block) normalise(k int, h *graph.Node) *graph.Node {
	if b.gain[k] == nil {
		return b.norm(fmt.Sprintf("%s.norm%d", b.name, k), h)
	}
	return graph.Add(graph.Mul(layers.Normalise(h), b.gain[k]), b.shift[k])
}

// first is a first map of a branch, without its bias.
func (b block) first(name string, h *graph.Node) *graph.Node {
	if b.config.Conditioning != Concat {
		return b.times(h, b.weight(name))
	}
	dimensions := h.Shape().Dimensions
	weight, own := b.weight(name), dimensions[len(dimensions)-1]
	return graph.Add(b.times(h, rows(weight, 0, own)), b.context.into(rows(weight, own, own+b.config.Width)))
}

// last is the last map of a branch: it returns what the branch adds to the state. offset
// is where its part of g begins.
func (b block) last(name string, h *graph.Node, offset int) *graph.Node {
	if b.features != nil {
		dimensions := h.Shape().Dimensions
		own := graph.AxisRange(offset, offset+dimensions[len(dimensions)-1])
		h = graph.Mul(h, graph.Slice(b.features, graph.AxisRange().Spacer(), own))
	}
	added := b.dense(name, h)
	if b.gate != nil {
		added = graph.Mul(added, b.gate)
	}
	return added
}
