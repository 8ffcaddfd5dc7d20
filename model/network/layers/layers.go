// Package layers has what networks are made of, products of matrices in either
// precision and the functions that are applied between them, in the forms that
// XLA's CPU compiler computes fastest, with gradients written out where that is
// faster than differentiating the form. They use no operation that lacks a
// gradient, and run on every backend.
package layers

import (
	"github.com/gomlx/gomlx/core/graph"
)

// withGradient returns f(x…), of whose gradients pull is the way of computing: it
// maps ∂L/∂f to those by each of x.
//
// The graph library takes such a gradient only for the identity, so that there
// is one around f, which learns ∂L/∂f, and one around each of x, which says what
// the gradient there is, in place of what the library made of f. That, being
// without use, the compilers drop.
func withGradient(f func(x []*graph.Node) *graph.Node, pull func(dy *graph.Node) []*graph.Node, x ...*graph.Node) *graph.Node {
	var dx []*graph.Node
	inner := make([]*graph.Node, len(x))
	for i := range x {
		inner[i] = graph.IdentityWithCustomGradient(x[i], func(_, _ *graph.Node) *graph.Node { return dx[i] })
	}
	// Gradients go from results to arguments, so this is called before those above.
	return graph.IdentityWithCustomGradient(f(inner), func(_, dy *graph.Node) *graph.Node {
		dx = pull(dy)
		return dy
	})
}

// again is x as a value of its own: what is computed of it is not looked up
// among what was computed of x. So the gradient of a costly function can compute
// it again from a small array instead of keeping a large one.
func again(x *graph.Node) *graph.Node {
	// XLA on the CPU takes barriers only of two values and more.
	return graph.OptimizationBarriers(x, graph.ScalarZero(x.Graph(), x.DType()))[0]
}
