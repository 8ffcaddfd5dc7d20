package layers

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// GELU is x·Φ(x) with the error function, as torch.nn.GELU is by default.
func GELU(x *graph.Node) *graph.Node {
	return graph.Mul(graph.MulScalar(x, 0.5), graph.OnePlus(graph.Erf(graph.MulScalar(x, 1/math.Sqrt2))))
}

// mishBound is where Mish(x) = x to the last bit of float32; beyond it the
// square of the exponential would overflow.
const mishBound = 20

// Mish is x·tanh(ln(1 + eˣ)). With e = eˣ and n = e(e + 2),
//
//	Mish(x) = x·n/(n + 2), Mish′(x) = n/(n + 2) + 4x·e(e + 1)/(n + 2)²,
//
// one exponential where the definition has three transcendental functions.
func Mish(x *graph.Node) *graph.Node {
	e := graph.Exp(graph.MinScalar(x, mishBound))
	n := graph.Mul(e, graph.AddScalar(e, 2))
	below := graph.Reciprocal(graph.AddScalar(n, 2))
	gate := graph.Mul(n, below)
	return withGradient(x, graph.Mul(x, gate), func(g *graph.Node) *graph.Node {
		slope := graph.MulScalar(graph.Mul(graph.Mul(e, graph.OnePlus(e)), graph.Mul(below, below)), 4)
		return graph.Mul(g, graph.Add(gate, graph.Mul(x, slope)))
	})
}

// Softmax over the last axis.
func Softmax(x *graph.Node) *graph.Node {
	e := graph.Exp(graph.Sub(x, graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))))
	return graph.Div(e, graph.ReduceAndKeep(e, graph.ReduceSum, -1))
}
