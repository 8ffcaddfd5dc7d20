package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

func gridTask(a, b *Measure, eps float64, single bool, potential func(x float64, j int) float64) task {
	job := Transform{make([]float64, a.n), a, b, make([]float64, b.n)}
	for j := range job.Potential {
		job.Potential[j] = potential(b.x[j], j)
	}
	var e exponents
	e.set(job.Potential, math.Log2E/eps, b.groups)
	return task{Transform: job, exponents: e, eps: eps, single: single}
}

// Grids resolve sums over boxes a few √ε wide to the tolerance, in two and three
// dimensions, also where a box is flat.
func TestGridsEqualDefinition(t *testing.T) {
	for _, d := range []int{2, 3} {
		to := measured(testclouds.Law{Kind: "uniform", N: 1500, D: d, Seed: 131, Parameters: []float64{-1, 1}})
		from := measured(testclouds.Law{Kind: "modes", N: 300, D: d, Seed: 132, Parameters: []float64{0.3, -2, 2, 0.4}})
		for name, potential := range testPotentials {
			for _, flat := range []bool{false, true} {
				for single, part := range map[bool]float64{false: 2e-9, true: 1e-7} {
					job := gridTask(to, from, 4, single, potential)
					if flat {
						clear(job.To.axis(1))
						job.To.tree[0] = job.To.bound(0, job.To.n)
					}
					if b := &job.To.tree[0]; !job.gridPays(b) || !job.runGrid(&scratch{}, b) {
						t.Errorf("%dD, potential %s, flat %v, in float32 %v: no grid", d, name, flat, single)
						continue
					}
					for i, w := range naive(job.Transform, job.eps) {
						if !(math.Abs(job.Dst[i]-w) <= part*job.eps) {
							t.Errorf("%dD, potential %s, flat %v, in float32 %v: softmin[%d] = %.12g, want %.12g", d, name, flat, single, i, job.Dst[i], w)
							break
						}
					}
				}
			}
		}
	}
}

// A sum that a grid does not resolve, even if the sample of the sources suggests so,
// is left untouched to the next path.
func TestGridsFallBack(t *testing.T) {
	to := measured(testclouds.Law{Kind: "uniform", N: 4096, D: 2, Seed: 133, Parameters: []float64{-2, 2}})
	normal := measured(testclouds.Law{Kind: "normal", N: 500, D: 2, Seed: 134, Parameters: []float64{0, 1}})
	far := measured(testclouds.Law{Kind: "modes", N: 500, D: 2, Seed: 135, Parameters: []float64{0.5, -100, 100, 0.2}})
	outlier := testclouds.Law{Kind: "normal", N: 500, D: 2, Seed: 136, Parameters: []float64{0, 0.1}}.Points()
	outlier[0], outlier[1] = 30, 30
	for _, tt := range []struct {
		name      string
		from      *Measure
		eps       float64
		potential func(x float64, j int) float64
		pays      bool
	}{
		{"too wide for its nodes", normal, 0.04, testPotentials["zero"], false},
		{"too steep for any number of nodes", normal, 0.3, func(x float64, _ int) float64 { return 30 * math.Abs(x) }, true},
		{"beyond the range of factors", far, 0.3, testPotentials["zero"], true},
		{"a source that no sample has", NewMeasure(500, 2, outlier), 2, func(x float64, j int) float64 {
			if x < 20 {
				return 0
			}
			if j%gridSample == 0 {
				t.Error("the sample has it")
			}
			return 890
		}, true},
	} {
		job := gridTask(to, tt.from, tt.eps, true, tt.potential)
		b := &job.To.tree[0]
		if got := job.gridPays(b); got != tt.pays {
			t.Errorf("%s: pays %v", tt.name, got)
		}
		job.Dst[7] = 77
		if tt.pays && job.runGrid(&scratch{}, b) || job.Dst[7] != 77 {
			t.Errorf("%s: a grid took it", tt.name)
		}
		job.runNode(&scratch{})
		for i, w := range naive(job.Transform, job.eps) {
			if !(math.Abs(job.Dst[i]-w) <= 1e-4*job.eps) {
				t.Errorf("%s: softmin[%d] = %v, want %v", tt.name, i, job.Dst[i], w)
				break
			}
		}
	}
}

// The bound of a Bessel function holds and is tight.
func TestLogBessel(t *testing.T) {
	for _, z := range []float64{1e-6, 0.1, 1, 5, 20} {
		for _, m := range []int{1, 4, 12, 30} {
			term := 1.0 // (z/2)^(2k+m)/k!(k+m)!
			for k := 1; k <= m; k++ {
				term *= 0.5 * z / float64(k)
			}
			var sum float64
			for k := 1; k < 200; k++ {
				sum += term
				term *= 0.25 * z * z / (float64(k) * float64(k+m))
			}
			want := math.Log2(sum)
			if got := logBessel(m, z); !(got >= want-1e-9 && (got <= want+0.5 || z > float64(m))) {
				t.Errorf("log2 I_%d(%v) is %v, bound %v", m, z, want, got)
			}
		}
	}
	if got := logBessel(3, 0); !math.IsInf(got, -1) {
		t.Errorf("log2 I_3(0) is bounded by %v", got)
	}
}
