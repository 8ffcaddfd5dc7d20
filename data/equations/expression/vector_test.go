package expression

import (
	"math"
	"testing"
)

// The functions of slices give the bits of the plain kernels, in place, too, and at lengths that are
// no multiple of a block.
func TestVector(t *testing.T) {
	for name, c := range map[string]struct {
		of    func(dst, x []float64)
		plain func(float64) float64
	}{"exp": {Exp, exp}, "log": {Log, log}, "sin": {Sin, sin}, "cos": {Cos, cos}, "tanh": {Tanh, tanh}} {
		for _, n := range []int{0, 1, Lanes - 1, Lanes, 3*Lanes + 5} {
			x, dst := make([]float64, n), make([]float64, n)
			for i := range x {
				x[i] = 40 * math.Sin(float64(3*i+1))
			}
			c.of(dst, x)
			for i, v := range x {
				if want := c.plain(v); math.Float64bits(dst[i]) != math.Float64bits(want) && (dst[i] == dst[i] || want == want) {
					t.Errorf("%s of %d numbers: %v at %v, want %v", name, n, dst[i], v, want)
				}
			}
			c.of(x, x)
			for i, v := range dst {
				if math.Float64bits(x[i]) != math.Float64bits(v) && (x[i] == x[i] || v == v) {
					t.Errorf("%s in place: %v, want %v", name, x[i], v)
				}
			}
		}
	}
}
