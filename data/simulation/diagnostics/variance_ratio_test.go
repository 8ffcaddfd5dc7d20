package diagnostics

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Chains that share their noise show a small excess, and the standard error is that of many repetitions. A
// coordinate that stands still changes nothing.
func TestVarianceRatio(t *testing.T) {
	const chains, n, dim, repetitions = 64, 8, 3, 400
	source := rand.New(rand.NewPCG(1, 2))
	var mean, square, told float64
	for range repetitions {
		a, b := make([]float32, chains*n*dim), make([]float32, chains*n*dim)
		for at := range a {
			if at%dim == 2 {
				a[at], b[at] = 7, 7
				continue
			}
			z, other := source.NormFloat64(), source.NormFloat64()
			b[at] = float32(5 + z)
			a[at] = float32(4 + math.Sqrt(1.02)*(0.99*z+math.Sqrt(1-0.99*0.99)*other))
		}
		excess, deviation := VarianceRatio(a, b, dim, chains)
		mean, square, told = mean+excess/repetitions, square+excess*excess/repetitions, told+deviation/repetitions
	}
	want := 0.02 * 2 / 3 // the mean is over three coordinates, of which one stands still
	spread := math.Sqrt(square - mean*mean)
	if math.Abs(mean-want) > 4*spread/math.Sqrt(repetitions) || math.Abs(told/spread-1) > 0.15 || told > 0.01 {
		t.Errorf("the excess is %.4f ± %.4f, said to be ± %.4f; want %.4f", mean, spread, told, want)
	}
}
