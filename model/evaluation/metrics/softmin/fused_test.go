package softmin

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// fusedClouds are large enough to be fused; their sizes are no multiples of a tile or
// a vector.
func fusedClouds(t *testing.T, d int) (a, b *Measure) {
	a = measured(testclouds.Law{Kind: "normal", N: 1101, D: d, Seed: 51, Parameters: []float64{0, 1}})
	b = measured(testclouds.Law{Kind: "modes", N: 1037, D: d, Seed: 52, Parameters: []float64{0.3, -1, 1, 0.4}})
	return a, b
}

// A pair of transforms, and one of a measure to itself, equals the definition, whether
// the sums are fused or leave the range and are taken in tiles.
func TestFusedEqualsDefinition(t *testing.T) {
	dimensions := []int{3, 7}
	if testing.Short() {
		dimensions = dimensions[:1]
	}
	for _, d := range dimensions {
		a, b := fusedClouds(t, d)
		for _, tt := range []struct {
			name           string
			eps, slope     float64
			tried, refused bool
		}{
			{"zero", 1, 0, true, false},
			{"smooth", 1, 0.4, true, false},
			{"steep", 1, 40, true, true},
			{"small ε", 1e-3, 0.4, false, false},
		} {
			f, g := make([]float64, a.n), make([]float64, b.n)
			for i := range f {
				f[i] = tt.slope * a.x[i]
			}
			for j := range g {
				g[j] = tt.slope * b.x[j]
			}
			jobs := []Transform{
				{make([]float64, a.n), a, b, g}, {make([]float64, b.n), b, a, f}, {make([]float64, a.n), a, a, f},
			}
			s := Evaluator{Float32: true}
			for range 2 { // the second run does not depend on the first
				s.Run(tt.eps, jobs...)
			}
			for _, pair := range s.fused {
				if tried := len(pair.sum) > 0; tried != (hasPairKernel && tt.tried) || pair.refused != (hasPairKernel && tt.refused) {
					t.Errorf("%dD, %s: tried %v, refused %v", d, tt.name, tried, pair.refused)
				}
			}
			for k, job := range jobs {
				for i, w := range naive(job, tt.eps) {
					if !(math.Abs(job.Dst[i]-w) <= 1e-4*tt.eps+1e-13*math.Abs(w)) {
						t.Errorf("%dD, %s, transform %d: softmin[%d] = %.12g, want %.12g", d, tt.name, k, i, job.Dst[i], w)
						break
					}
				}
			}
		}
	}
}

// Fused sums are bitwise equal for any number of processors.
func TestFusedIgnoresProcessors(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	a, b := fusedClouds(t, 3)
	var want []float64
	for _, processors := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(processors)
		jobs := []Transform{
			{make([]float64, a.n), a, b, make([]float64, b.n)}, {make([]float64, b.n), b, a, make([]float64, a.n)}, {make([]float64, a.n), a, a, make([]float64, a.n)},
		}
		s := Evaluator{Float32: true}
		s.Run(0.5, jobs...)
		got := slices.Concat(jobs[0].Dst, jobs[1].Dst, jobs[2].Dst)
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d processors: other sums than one", processors)
		}
	}
}

// The kernel adds the same terms to rows and to columns as the plain one.
func TestPairKernelsAgree(t *testing.T) {
	g := testclouds.Law{Seed: 53}
	for _, d := range []int{1, 2, 3, 64} {
		for _, n := range []int{lanes32, 3 * lanes32, 2048} {
			stride := n + 7
			a, v, u := make([]float32, n), make([]float32, d*stride), make([]float32, (d+1)*tile)
			for j := range a {
				a[j] = float32(-20 * g.Uniform(j, 0))
			}
			for j := range v {
				v[j] = float32(10 * (g.Uniform(j, 1) - 0.5))
			}
			for k := range u {
				u[k] = float32((g.Uniform(k, 2) - 0.5) / float64(d))
			}
			u[5] = -exponentRange // a row that is missing
			var want, got [tile][lanes32]float64
			wantColumns, gotColumns := make([]float32, n), make([]float32, n)
			for range 2 { // sums are added to
				expPairsPlain(&want, &wantColumns[0], &a[0], &v[0], &u[0], stride, n, d)
				expPairs(&got, &gotColumns[0], &a[0], &v[0], &u[0], stride, n, d)
			}
			for i := range want {
				w, x := addLanes(&want[i]), addLanes(&got[i])
				if !(math.Abs(x-w) <= 3e-6*w+1e-30) {
					t.Errorf("%d columns in %d dimensions: sum of row %d is %v, plain %v", n, d, i, x, w)
				}
			}
			for j, w := range wantColumns {
				if !(math.Abs(float64(gotColumns[j]-w)) <= 4e-6*float64(w)) {
					t.Errorf("%d columns in %d dimensions: sum of column %d is %v, plain %v", n, d, j, gotColumns[j], w)
				}
			}
		}
	}
}
