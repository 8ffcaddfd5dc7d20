package layers

import (
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/gomlx/gomlx/core/graph"
)

// mean over the last axis of x [..., n], kept as [..., 1]. It is a product with a
// column of ones, since XLA-CPU's reductions of short rows are slower. The division by n
// comes after the product: otherwise XLA would fuse an addition into the product instead
// of the computation of x, and write x to an array.
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
// It is a product with two rows of ones. XLA-CPU fuses the computation of x into a sum,
// or into a product with one row. It then computes x again for every other use, and goes
// down the columns one by one. It does not fuse into a product of two matrices, so that
// it computes x once.
func columnSums(x *graph.Node) *graph.Node {
	ones := graph.Ones(x.Graph(), backend.Shape(2, x.Shape().Dimensions[0]))
	sums := graph.Dot(ones, x).MatMul()
	return graph.Reshape(graph.Slice(sums, graph.AxisRange(0, 1)), -1)
}
