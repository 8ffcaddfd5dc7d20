package layers

import "github.com/gomlx/gomlx/core/graph"

// epsilon is what LayerNorm adds to a variance, as torch.nn.LayerNorm does.
const epsilon = 1e-5

// Normalise gives every row x of the last axis mean 0 and variance 1: LayerNorm
// without gain and bias,
//
//	y = (x − μ)/√(σ² + ε), μ and σ² the row's mean and variance, ε = 1e-5.
//
// With the bar for a row's mean, its gradient is
//
//	∂L/∂x = (g − ḡ − y·mean(g·y))/√(σ² + ε), g = ∂L/∂y.
func Normalise(x *graph.Node) *graph.Node {
	centred := graph.Sub(x, mean(x))
	scale := graph.Reciprocal(graph.Sqrt(graph.AddScalar(mean(graph.Mul(centred, centred)), epsilon)))
	y := graph.Mul(centred, scale)
	return withGradient(x, y, func(g *graph.Node) *graph.Node {
		along := graph.Mul(y, mean(graph.Mul(g, y)))
		return graph.Mul(scale, graph.Sub(graph.Sub(g, mean(g)), along))
	})
}
