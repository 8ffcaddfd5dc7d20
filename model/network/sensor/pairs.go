package sensor

import (
	"math"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// The decoder of pairs moves particles i = 1 … N in the plane along the lines between them. Every
// block adds to the velocity u, which is 0 at first, what it sees where the flow would end with
// it, at y = x + (1−t)u: with d_ij = y_i − y_j and K functions ρ_k of the distance,
//
//	u_i ← u_i + c_i y_i + 1/√N Σ_j Σ_k ρ_k(|d_ij|) (q_ik + q_jk) d_ij,  [c_i; q_i] = W_q LN(h_i) + b_q
//
// which a rotation, a reflection and a permutation of the particles turn with the state. W_q and
// b_q are initially zero. Tokens begin with h_i = W_in [ρ(|x_i|); τ] + b_in. Before it pushes, a
// block adds messages to them, with p = W_p N₀(h) + b_p,
//
//	m_ik = 1/√N Σ_j ρ_k(|d_ij|) p_jk,  w_ik = 1/√N Σ_j ρ_k(|d_ij|) p_jk d_ij
//	h′ = h + α⊙(W_m [m; √(1 + |w|²) − 1] + b_m) + W_o ρ(|y_i|)
//
// and a perceptron for each token. Of w only the lengths enter, which see the angles among
// triples. This is a network of the kind of PaiNN (Schütt et al., arXiv 2102.03150) and EGNN
// (Satorras et al., arXiv 2102.09844) that gives every pair a sum of few functions in place of a
// perceptron: coefficients are the tokens', so that a pair takes about 5K multiply–adds in a block.
//
// ρ_k(r) = exp(−½((s − s_k)/δ)²) of s = ½ log(1 + r²/r₀²), at K places s_k that are δ apart. Of
// 24, they are 0.08 apart near r₀ = ¼ and 0.5 near r = 3; they end at r = 8.
const (
	radialUnit = 0.25
	radialEnd  = 8
)

// radialSpacing is δ of k functions.
func radialSpacing(k int) float64 {
	return 0.5 * math.Log1p(radialEnd*radialEnd/(radialUnit*radialUnit)) / float64(k-1)
}

// radial are ρ_k [..., K] of squared distances [...].
func (n Network) radial(squares *graph.Node) *graph.Node {
	k := n.config.Radial
	u := graph.MulScalar(graph.Log1P(graph.MulScalar(squares, 1/(radialUnit*radialUnit))), 0.5/radialSpacing(k)) // s/δ
	places := make([]float32, k)
	for i := range places {
		places[i] = float32(i)
	}
	u = graph.Sub(graph.ExpandAxes(u, -1), graph.ExpandLeftToRank(graph.Const(squares.Graph(), places), u.Rank()+1))
	return graph.Exp(graph.MulScalar(graph.Mul(u, u), -0.5))
}

// pairs are those of the particles of states [n, S, N, 2].
type pairs struct {
	rho   *graph.Node    // ρ_k(|d_ij|)/√N, [n, S, N × N, K]
	apart [2]*graph.Node // d_ij, [n, S, N × N, 1]
}

func (n Network) pairsOf(x *graph.Node) pairs {
	var p pairs
	apart := graph.Sub(graph.ExpandAxes(x, 3), graph.ExpandAxes(x, 2))
	p.rho = graph.MulScalar(n.radial(graph.ReduceSum(graph.Mul(apart, apart), -1)), 1/math.Sqrt(float64(n.config.tokens())))
	for k := range p.apart {
		p.apart[k] = graph.Slice(apart, graph.AxisRange().Spacer(), graph.AxisRange(k, k+1))
	}
	return p
}

// push returns u [n, S, N, 2] at states x of that shape and times t [n, S] or [n, 1], of tokens
// h [n, S, N, D].
func (n Network) push(h, x, t *graph.Node, context codeAndTime) *graph.Node {
	left := context.spread(graph.ExpandAxes(graph.OneMinus(t), -1)) // 1 − t
	y, u := x, graph.ZerosLike(x)
	for i := range n.config.DecoderBlocks {
		b, pairs := n.block(i, context), n.pairsOf(y)
		h = b.forward(b.messages(h, y, pairs))
		u = graph.Add(u, pairs.along(y, n.dense(b.name+".push", layers.Normalise(h))))
		y = graph.Add(x, graph.Mul(left, u))
	}
	return u
}

// messages is the first branch of a block of pairs, of h [n, S, N, D] at y [n, S, N, 2].
func (b block) messages(h, y *graph.Node, pairs pairs) *graph.Node {
	name := b.name + ".messages"
	p := plus(b.first(name+".value", b.normalise(0, h)), b.bias(name+".value"))
	weighted := graph.Mul(pairs.rho, graph.ExpandAxes(p, 2)) // p_jk
	square := graph.OnesLike(p)
	for _, d := range pairs.apart {
		w := graph.ReduceSum(graph.Mul(weighted, d), 3)
		square = graph.Add(square, graph.Mul(w, w))
	}
	m := graph.Concatenate([]*graph.Node{graph.ReduceSum(weighted, 3), graph.AddScalar(graph.Sqrt(square), -1)}, -1)
	own := b.times(b.radial(graph.ReduceSum(graph.Mul(y, y), -1)), b.weight(name+".own"))
	return graph.Add(graph.Add(h, own), b.last(name+".output", m, 0))
}

// along is what tokens with coefficients [n, S, N, 1+K] add to u at y [n, S, N, 2].
func (p pairs) along(y, coefficients *graph.Node) *graph.Node {
	k := p.rho.Shape().Dimensions[4]
	own := graph.Slice(coefficients, graph.AxisRange().Spacer(), graph.AxisRange(0, 1))
	q := graph.Slice(coefficients, graph.AxisRange().Spacer(), graph.AxisRange(1, 1+k))
	force := graph.ReduceSum(graph.Mul(p.rho, graph.Add(graph.ExpandAxes(q, 3), graph.ExpandAxes(q, 2))), -1) // [n, S, N × N]
	var sums []*graph.Node
	for _, d := range p.apart {
		sums = append(sums, graph.ReduceSum(graph.Mul(force, graph.Squeeze(d, 4)), 3))
	}
	return graph.Add(graph.Mul(own, y), graph.Stack(sums, -1))
}
