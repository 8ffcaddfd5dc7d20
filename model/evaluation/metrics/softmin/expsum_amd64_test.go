//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// Every kernel that this processor can run agrees with the plain one.
func TestKernelsAgree(t *testing.T) {
	kernels := map[string]func(a, v []float64, stride int, u []float64) float64{}
	if hasAVX512 {
		kernels["AVX-512"] = expSumAVX512
	}
	if hasAVX2 {
		kernels["AVX2"] = expSumAVX2
	}
	for _, dimensions := range []int{1, 2, 3, 64} {
		for _, n := range []int{8, 16, 24, 256, 264, 1000} {
			stride := n + 5
			a, v, u := make([]float64, n), make([]float64, dimensions*stride), make([]float64, dimensions)
			g := testclouds.Law{Seed: uint64(n)}
			for j := range a {
				a[j] = -900 * math.Pow(g.Uniform(j, 0), 4) // mostly near 0, down to -900
			}
			for j := range v {
				v[j] = 30 * (g.Uniform(j, 1) - 0.5)
			}
			for k := range u {
				u[k] = (g.Uniform(k, 2) - 0.5) / float64(dimensions)
			}
			want := expSumPlain(a, v, stride, u)
			for name, kernel := range kernels {
				if got := kernel(a, v, stride, u); !(math.Abs(got-want) <= 2e-10*want) {
					t.Errorf("%s, %d sources in %d dimensions: %v, plain %v", name, n, dimensions, got, want)
				}
			}
			// The exponents at both ends of the range, and a sum of nothing but padding.
			for _, e := range []float64{-exponentRange, exponentRange, -0.5, 0.5, 0, 1, -1} {
				clear(v)
				for j := range a {
					a[j] = e
				}
				want := float64(n) * math.Exp2(e)
				for name, kernel := range kernels {
					if got := kernel(a, v, stride, u); !(math.Abs(got-want) <= 2e-10*want) {
						t.Errorf("%s: %d·2^%v = %v, want %v", name, n, e, got, want)
					}
				}
			}
		}
	}
}
