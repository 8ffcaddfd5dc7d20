package sensor

import (
	"math"

	"github.com/ergoflow/ergoflow/model/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// projections returns weight [in, 3·width] and bias [3·width] that map tokens to
// queries, keys and values at once. The bias of the keys would add the same to
// all scores of a query, which the softmax ignores: it is zero here, and has no
// gradient.
func (n Network) projections(name string) (weight, bias *graph.Node) {
	query, value := n.bias(name+".query"), n.bias(name+".value")
	weight = graph.Concatenate([]*graph.Node{n.weight(name + ".query"), n.weight(name + ".key"), n.weight(name + ".value")}, 1)
	return weight, graph.Concatenate([]*graph.Node{query, graph.ZerosLike(query), value}, 0)
}

// attend is softmax(QKᵀ/√w)V among tokens, for heads of width w side by side:
// [..., tokens, width] of the projections [..., tokens, 3·width].
func attend(projected *graph.Node, heads int) *graph.Node {
	dimensions := append([]int{}, projected.Shape().Dimensions...)
	rank := len(dimensions)
	tokens, width := dimensions[rank-2], dimensions[rank-1]/3
	head := width / heads
	parts := graph.Reshape(projected, -1, tokens, 3, heads, head)
	part := func(i int) *graph.Node {
		return graph.Squeeze(graph.Slice(parts, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(i, i+1)), 2)
	}
	query := graph.MulScalar(part(0), 1/math.Sqrt(float64(head)))
	scores := layers.Softmax(graph.Einsum("nqhd,nkhd->nhqk", query, part(1)))
	dimensions[rank-1] = width
	return graph.Reshape(graph.Einsum("nhqk,nkhd->nqhd", scores, part(2)), dimensions...)
}
