// Package layers has what networks are made of, products of matrices in either
// precision and the functions that are applied between them, in the forms that
// XLA's CPU compiler computes fastest, with gradients written out where that is
// faster than differentiating the form. They use no operation that lacks a
// gradient, and run on every backend.
package layers

import (
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/gomlx/gomlx/core/graph"
)

// withGradient returns y, a function of x of the same shape, with the gradient
// that pull says: it maps ∂L/∂y to ∂L/∂x. No gradient flows through y itself.
//
// The graph library takes such a gradient only for the identity: y is made
// constant and the identity of x, less x, is added to it, which is zero.
func withGradient(x, y *graph.Node, pull func(dy *graph.Node) *graph.Node) *graph.Node {
	identity := graph.IdentityWithCustomGradient(x, func(_, dy *graph.Node) *graph.Node { return pull(dy) })
	return graph.Add(graph.StopGradient(y), graph.Sub(identity, graph.StopGradient(x)))
}

// mean over the last axis of x [..., n], kept as [..., 1]: a product with a
// column of 1/n, since XLA-CPU's reductions of short rows are slower.
func mean(x *graph.Node) *graph.Node {
	dimensions := x.Shape().Dimensions
	n := dimensions[len(dimensions)-1]
	column := graph.MulScalar(graph.Ones(x.Graph(), backend.Shape(n, 1)), 1/float64(n))
	kept := append([]int{}, dimensions...)
	kept[len(kept)-1] = 1
	return graph.Reshape(graph.Dot(graph.Reshape(x, -1, n), column).MatMul(), kept...)
}
