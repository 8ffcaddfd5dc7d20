package layers

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// GELU is x·Φ(x) with the exact error function, the default of torch.nn.GELU.
func GELU(x *graph.Node) *graph.Node {
	return graph.Mul(graph.MulScalar(x, 0.5), graph.OnePlus(graph.Erf(graph.MulScalar(x, 1/math.Sqrt2))))
}

// slopeOfGELU is Φ(x) + x·φ(x), φ the normal density.
func slopeOfGELU(x *graph.Node) *graph.Node {
	below := graph.MulScalar(graph.OnePlus(graph.Erf(graph.MulScalar(x, 1/math.Sqrt2))), 0.5)
	density := graph.MulScalar(graph.Exp(graph.MulScalar(graph.Mul(x, x), -0.5)), 1/math.Sqrt(2*math.Pi))
	return graph.Add(below, graph.Mul(x, density))
}

// mishBound is an x from which Mish(x) = x in float32. For larger x the square of the
// exponential may overflow.
const mishBound = 20

// Mish is x·tanh(ln(1 + eˣ)). With e = eˣ and n = e(e + 2), and u = e⁻ˣ,
//
//	Mish(x) = x·n/(n + 2), Mish′(x) = (1 + 2u + 4xu²(1 + u)/m)/m, m = 1 + 2u + 2u²,
//
// this takes one exponential where the definition has three transcendental functions.
// The derivative takes another one, so that the compiler keeps only x of the forward
// pass: writing and reading a large array costs more than the exponential.
func Mish(x *graph.Node) *graph.Node {
	value := func(x []*graph.Node) *graph.Node {
		e := graph.Exp(graph.MinScalar(x[0], mishBound))
		n := graph.Mul(e, graph.AddScalar(e, 2))
		return graph.Mul(x[0], graph.Div(n, graph.AddScalar(n, 2)))
	}
	return withGradient(value, func(g *graph.Node) []*graph.Node {
		low := graph.MaxScalar(x, -mishBound)
		u := graph.Exp(graph.Neg(low))
		m := graph.OnePlus(graph.MulScalar(graph.Mul(u, graph.OnePlus(u)), 2))
		below := graph.Reciprocal(m)
		inner := graph.Mul(graph.Mul(graph.MulScalar(low, 4), graph.Mul(graph.Mul(u, u), graph.OnePlus(u))), below)
		slope := graph.Mul(graph.Add(graph.OnePlus(graph.MulScalar(u, 2)), inner), below)
		return []*graph.Node{graph.Mul(g, slope)}
	}, x)
}

// Softmax over the last axis.
func Softmax(x *graph.Node) *graph.Node {
	e := graph.Exp(graph.Sub(x, graph.StopGradient(graph.ReduceAndKeep(x, graph.ReduceMax, -1))))
	return graph.Div(e, graph.ReduceAndKeep(e, graph.ReduceSum, -1))
}
