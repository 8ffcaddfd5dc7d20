// Package layers has the building blocks of networks: matrix products in either
// precision and the functions between them. Their forms are those that XLA's CPU
// compiler computes fastest. Some have their own gradients, where these are faster than
// automatic differentiation. All are differentiable and run on every backend.
package layers

import (
	"github.com/gomlx/gomlx/core/graph"
)

// withGradient returns f(x…) with the gradient pull, which maps ∂L/∂f to ∂L/∂x for each
// of x.
//
// The graph library accepts a custom gradient only for the identity. So there is an
// identity around f, which receives ∂L/∂f, and one around each of x, which returns
// pull's gradient in place of the library's gradient of f. The compilers drop the
// latter, which nothing uses.
func withGradient(f func(x []*graph.Node) *graph.Node, pull func(dy *graph.Node) []*graph.Node, x ...*graph.Node) *graph.Node {
	var dx []*graph.Node
	inner := make([]*graph.Node, len(x))
	for i := range x {
		inner[i] = graph.IdentityWithCustomGradient(x[i], func(_, _ *graph.Node) *graph.Node { return dx[i] })
	}
	// Gradients go from results to arguments, so this function runs before those above.
	return graph.IdentityWithCustomGradient(f(inner), func(_, dy *graph.Node) *graph.Node {
		dx = pull(dy)
		return dy
	})
}

// again is a copy of x that the compiler does not identify with x, so that it computes
// functions of the copy again. The gradient of an elementwise function can so recompute
// its value from x instead of keeping a large array.
func again(x *graph.Node) *graph.Node {
	// XLA on the CPU accepts barriers of at least two values.
	return graph.OptimizationBarriers(x, graph.ScalarZero(x.Graph(), x.DType()))[0]
}
