package metrics

import (
	"math"
	"testing"
)

func gridTask(to, from Cloud, eps float64, single bool, potential func(x float64, j int) float64) task {
	a, b := newMeasure(to), newMeasure(from)
	job := transform{make([]float64, a.n), a, b, make([]float64, b.n)}
	for j := range job.potential {
		job.potential[j] = potential(b.x[j], j)
	}
	var e exponents
	e.set(job.potential, math.Log2E/eps, b.groups)
	return task{transform: job, exponents: e, eps: eps, single: single}
}

// Grids resolve sums a few √ε wide, to what is asked for, in two and three
// dimensions, and where a box is flat.
func TestGridsEqualDefinition(t *testing.T) {
	for _, d := range []int{2, 3} {
		to := goldenCloud{Kind: "uniform", N: 1500, D: d, Seed: 131, Parameters: []float64{-1, 1}}.cloud(t)
		from := goldenCloud{Kind: "modes", N: 300, D: d, Seed: 132, Parameters: []float64{0.3, -2, 2, 0.4}}.cloud(t)
		for name, potential := range testPotentials {
			for _, flat := range []bool{false, true} {
				for single, part := range map[bool]float64{false: 2e-9, true: 1e-7} {
					job := gridTask(to, from, 4, single, potential)
					if flat {
						clear(job.to.axis(1))
						job.to.tree[0] = job.to.bound(0, job.to.n)
					}
					if b := &job.to.tree[0]; !job.gridPays(b) || !job.runGrid(&scratch{}, b) {
						t.Errorf("%dD, potential %s, flat %v, in float32 %v: no grid", d, name, flat, single)
						continue
					}
					for i, w := range naive(job.transform, job.eps) {
						if !(math.Abs(job.dst[i]-w) <= part*job.eps) {
							t.Errorf("%dD, potential %s, flat %v, in float32 %v: softmin[%d] = %.12g, want %.12g", d, name, flat, single, i, job.dst[i], w)
							break
						}
					}
				}
			}
		}
	}
}

// What a grid does not resolve, or only the sample of the sources said it would,
// is left to others, untouched.
func TestGridsFallBack(t *testing.T) {
	to := goldenCloud{Kind: "uniform", N: 4096, D: 2, Seed: 133, Parameters: []float64{-2, 2}}.cloud(t)
	normal := goldenCloud{Kind: "normal", N: 500, D: 2, Seed: 134, Parameters: []float64{0, 1}}.cloud(t)
	far := goldenCloud{Kind: "modes", N: 500, D: 2, Seed: 135, Parameters: []float64{0.5, -100, 100, 0.2}}.cloud(t)
	outlier := goldenCloud{Kind: "normal", N: 500, D: 2, Seed: 136, Parameters: []float64{0, 0.1}}.cloud(t)
	outlier.X[0], outlier.X[1] = 30, 30
	for _, tt := range []struct {
		name      string
		from      Cloud
		eps       float64
		potential func(x float64, j int) float64
		pays      bool
	}{
		{"too wide for its nodes", normal, 0.04, testPotentials["zero"], false},
		{"too steep for any number of nodes", normal, 0.3, func(x float64, _ int) float64 { return 30 * math.Abs(x) }, true},
		{"beyond the range of factors", far, 0.3, testPotentials["zero"], true},
		{"a source that no sample has", outlier, 2, func(x float64, j int) float64 {
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
		b := &job.to.tree[0]
		if got := job.gridPays(b); got != tt.pays {
			t.Errorf("%s: pays %v", tt.name, got)
		}
		job.dst[7] = 77
		if tt.pays && job.runGrid(&scratch{}, b) || job.dst[7] != 77 {
			t.Errorf("%s: a grid took it", tt.name)
		}
		job.runNode(&scratch{})
		for i, w := range naive(job.transform, job.eps) {
			if !(math.Abs(job.dst[i]-w) <= 1e-4*job.eps) {
				t.Errorf("%s: softmin[%d] = %v, want %v", tt.name, i, job.dst[i], w)
				break
			}
		}
	}
}

// The bound of a Bessel function is one, and not far above it.
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
