package softmin

import (
	"math"
	"testing"

	"golang.org/x/sys/cpu"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// Every kernel that this processor can run agrees with the plain one, for exponents of
// all sizes; a sum beyond float32 comes out infinite or NaN.
func TestTileKernelsAgree(t *testing.T) {
	type kernel = func(sums *[tile][lanes32]float64, a, v, u *float32, stride, n, d int, constants *[9][8]float32)
	kernels := map[string]kernel{}
	if cpu.X86.HasAVX512F {
		kernels["AVX-512"] = expSumsAVX512
	}
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		kernels["AVX2"] = expSumsAVX2
	}
	for name, run := range kernels {
		for _, d := range []int{1, 2, 3, 64} {
			for _, n := range []int{lanes32, 3 * lanes32, 2048} {
				for _, scale := range []float64{1, 20, 100, 1e30} {
					stride := n + 7
					a, v, u := make([]float32, n), make([]float32, d*stride), make([]float32, d*tile)
					g := testclouds.Law{Seed: uint64(n)}
					for j := range a {
						a[j] = float32(-scale * g.Uniform(j, 0))
					}
					for j := range v {
						v[j] = float32(10 * (g.Uniform(j, 1) - 0.5))
					}
					for k := range u {
						u[k] = float32((g.Uniform(k, 2) - 0.5) / float64(d))
					}
					var want, got [tile][lanes32]float64
					expSumsPlain(&want, &a[0], &v[0], &u[0], stride, n, d)
					run(&got, &a[0], &v[0], &u[0], stride, n, d, &tileConstants)
					for i := range want {
						w, x := addLanes(&want[i]), addLanes(&got[i])
						if !(math.Abs(x-w) <= 3e-6*w+1e-30) {
							t.Errorf("%s, %d sources in %d dimensions, scale %g: sum %d is %v, plain %v", name, n, d, scale, i, x, w)
						}
					}
				}
			}
		}
		for _, e := range []float32{128, 129.3, 500, 1e30, float32(math.NaN())} {
			a, v, u := make([]float32, lanes32), make([]float32, lanes32), make([]float32, tile)
			a[3] = e
			var sums [tile][lanes32]float64
			run(&sums, &a[0], &v[0], &u[0], lanes32, lanes32, 1, &tileConstants)
			if sum := addLanes(&sums[5]); sum < math.MaxFloat32 { // NaN is right, too
				t.Errorf("%s: 2^%v is %v", name, e, sum)
			}
		}
	}
}
