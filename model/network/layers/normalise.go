package layers

import "github.com/gomlx/gomlx/core/graph"

// epsilon is the term that LayerNorm adds to a variance, as in torch.nn.LayerNorm.
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
	var y, scale *graph.Node
	value := func(x []*graph.Node) *graph.Node {
		centred := graph.Sub(x[0], mean(x[0]))
		scale = perDeviation(centred)
		y = graph.Mul(centred, scale)
		return y
	}
	return withGradient(value, func(g *graph.Node) []*graph.Node {
		along := graph.Mul(y, mean(graph.Mul(g, y)))
		return []*graph.Node{graph.Mul(scale, graph.Sub(graph.Sub(g, mean(g)), along))}
	}, x)
}

// perDeviation is 1/√(σ² + ε) of rows with mean 0.
func perDeviation(centred *graph.Node) *graph.Node {
	return graph.Reciprocal(graph.Sqrt(graph.AddScalar(mean(graph.Mul(centred, centred)), epsilon)))
}

// NormGELU is GELU(gain⊙y + bias) with y = x/√(σ² + ε), for x [N, L, k] whose rows have
// mean 0: LayerNorm and GELU in one. The gradient keeps only x and two numbers of every
// row. With u = gain⊙y + bias and d = ∂L/∂u it is
//
//	∂L/∂x = (gain⊙d − y·mean(gain⊙d⊙y))/√(σ² + ε), ∂L/∂gain = Σ d⊙y, ∂L/∂bias = Σ d.
//
// A LayerNorm would also subtract the mean of gain⊙d. That has no effect on the
// gradients of a layer whose outputs always have mean 0.
func NormGELU(x, gain, bias *graph.Node) *graph.Node {
	dimensions := x.Shape().Dimensions
	k := dimensions[2]
	x = graph.Reshape(x, -1, k)
	row := func(b *graph.Node) *graph.Node { return graph.Reshape(b, 1, k) }
	var scale *graph.Node
	normalised := func(x, gain, bias *graph.Node) (y, u *graph.Node) {
		y = graph.Mul(x, scale)
		return y, graph.Add(graph.Mul(y, row(gain)), row(bias))
	}
	value := func(in []*graph.Node) *graph.Node {
		scale = perDeviation(in[0])
		_, u := normalised(in[0], in[1], in[2])
		return GELU(u)
	}
	result := withGradient(value, func(g *graph.Node) []*graph.Node {
		y, u := normalised(again(x), gain, bias)
		d := graph.Mul(g, slopeOfGELU(u))
		product := graph.Mul(d, y)
		along := graph.Mul(y, mean(graph.Mul(product, row(gain))))
		dx := graph.Mul(scale, graph.Sub(graph.Mul(d, row(gain)), along))
		return []*graph.Node{dx, columnSums(graph.ReduceSum(graph.Reshape(product, dimensions...), 1)), columnSums(d)}
	}, x, gain, bias)
	return graph.Reshape(result, dimensions...)
}
