package layers

import (
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/gomlx/core/graph"
)

// mean over the last axis of x [..., n], kept as [..., 1]: a product with a
// column of ones, since XLA-CPU's reductions of short rows are slower. The ones
// are divided by n only afterwards: an addition would go into the product in
// place of what computes x, of which then an array is made.
func mean(x *graph.Node) *graph.Node {
	dimensions := x.Shape().Dimensions
	n := dimensions[len(dimensions)-1]
	kept := append([]int{}, dimensions...)
	kept[len(kept)-1] = 1
	sums := graph.Dot(graph.Reshape(x, -1, n), graph.Ones(x.Graph(), backend.Shape(n, 1))).MatMul()
	return graph.Reshape(graph.MulScalar(sums, 1/float64(n)), kept...)
}

// Plus adds the row b [k] to the rows of x [R, k].
func Plus(x, b *graph.Node) *graph.Node {
	return withGradient(func(in []*graph.Node) *graph.Node {
		return graph.Add(in[0], graph.ExpandAxes(in[1], 0))
	}, func(dy *graph.Node) []*graph.Node {
		return []*graph.Node{dy, columnSums(dy)}
	}, x, b)
}

// columnSums is the sum of the rows of x [R, k]: [k].
//
// It is a product with two rows of ones. XLA-CPU puts what computes x into a sum,
// or a product with one row, and computes it again for everything else that needs
// x, and runs down each column by itself. Into a product of two matrices it puts
// nothing, so that x is computed once.
func columnSums(x *graph.Node) *graph.Node {
	ones := graph.Ones(x.Graph(), backend.Shape(2, x.Shape().Dimensions[0]))
	sums := graph.Dot(ones, x).MatMul()
	return graph.Reshape(graph.Slice(sums, graph.AxisRange(0, 1)), -1)
}
