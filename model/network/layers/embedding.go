package layers

import (
	"math"

	"github.com/gomlx/gomlx/core/graph"
)

// Frequencies returns n frequencies from low to high in equal ratios, in cycles per
// unit; for n = 1 it is low.
func Frequencies(n int, low, high float64) []float64 {
	f := make([]float64, n)
	for j := range f {
		f[j] = low
		if n > 1 {
			f[j] = low * math.Pow(high/low, float64(j)/float64(n-1))
		}
	}
	return f
}

// Embed returns [sin 2πf₀z, cos 2πf₀z, sin 2πf₁z, …] [..., 2·len(f)] of z [..., 1].
func Embed(z *graph.Node, f []float64) *graph.Node {
	dimensions := z.Shape().Dimensions
	angular := make([]float32, len(f))
	for j := range f {
		angular[j] = float32(2 * math.Pi * f[j])
	}
	phase := graph.Mul(graph.Reshape(z, -1, 1), graph.ExpandAxes(graph.Const(z.Graph(), angular), 0))
	pairs := graph.Stack([]*graph.Node{graph.Sin(phase), graph.Cos(phase)}, -1) // [N, len(f), 2]
	embedded := append([]int{}, dimensions...)
	embedded[len(embedded)-1] = 2 * len(f)
	return graph.Reshape(pairs, embedded...)
}
