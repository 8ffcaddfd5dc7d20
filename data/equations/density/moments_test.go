package density

import (
	"math"
	"testing"
)

// Of a normal law, of the Laplace law in the tails, and of one with most of its variance
// there.
func TestMoments(t *testing.T) {
	for _, c := range []struct {
		name           string
		law            *Density
		mean, variance float64
		within         float64
	}{
		{"normal", mustNew(t, tabulate(-16, 16, 65, func(x float64) float64 { return 1 - x }, constant(1))), 1, 0.5, 1e-9},
		{"Laplace", mustNew(t, tabulate(-1e-6, 1e-6, 2, func(x float64) float64 { return -1e6 * x }, constant(2))), 0, 8, 1e-4},
		{"tails", mustNew(t, tabulate(-5, 5, 64, func(x float64) float64 { return -0.05 * x }, constant(1.5))), 0, 46.449011, 1e-5},
	} {
		mean, variance := c.law.Moments()
		if !(math.Abs(mean-c.mean) <= c.within && math.Abs(variance-c.variance) <= c.within) {
			t.Errorf("%s: mean %g, variance %g, want %g and %g", c.name, mean, variance, c.mean, c.variance)
		}
	}
}
