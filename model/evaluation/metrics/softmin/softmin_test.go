package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// measured is a measure of the points of a law.
func measured(l testclouds.Law) *Measure { return NewMeasure(l.N, l.D, l.Points()) }

// naive is the definition, with the maximum of the exponents factored out.
func naive(t Transform, eps float64) []float64 {
	dst := make([]float64, t.To.n)
	for i := range dst {
		largest := math.Inf(-1)
		exponents := make([]float64, t.From.n)
		for j := range exponents {
			var square float64
			for d := range t.To.d {
				z := t.To.x[d*t.To.n+i] - t.From.x[d*t.From.n+j]
				square += z * z
			}
			exponents[j] = (t.Potential[j] - 0.5*square) / eps
			largest = max(largest, exponents[j])
		}
		var sum float64
		for _, e := range exponents {
			sum += math.Exp(e - largest)
		}
		dst[i] = -eps * (largest + math.Log(sum/float64(t.From.n)))
	}
	return dst
}

// Potentials of every kind: zero, smooth, of the size of a transport, and rough.
var testPotentials = map[string]func(x float64, j int) float64{
	"zero":      func(float64, int) float64 { return 0 },
	"transport": func(x float64, _ int) float64 { return 0.4*x*x + 1.5*x },
	"kink":      func(x float64, _ int) float64 { return 2 * math.Abs(x) },
	"rough":     func(x float64, j int) float64 { return math.Sin(float64(j) * 12.9898) },
}

func TestSoftminEqualsDefinition(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to, from testclouds.Law
	}{
		{"line", testclouds.Law{Kind: "normal", N: 600, D: 1, Seed: 1, Parameters: []float64{0, 1}}, testclouds.Law{Kind: "normal", N: 500, D: 1, Seed: 2, Parameters: []float64{0.5, 1}}},
		{"far modes", testclouds.Law{Kind: "modes", N: 700, D: 1, Seed: 3, Parameters: []float64{0.3, -6, 6, 0.2}}, testclouds.Law{Kind: "modes", N: 400, D: 1, Seed: 4, Parameters: []float64{0.7, -6, 6, 0.2}}},
		{"gap filled", testclouds.Law{Kind: "uniform", N: 900, D: 1, Seed: 5, Parameters: []float64{-7, 7}}, testclouds.Law{Kind: "modes", N: 400, D: 1, Seed: 4, Parameters: []float64{0.5, -6, 6, 0.2}}},
		{"heavy tails", testclouds.Law{Kind: "ratio", N: 500, D: 1, Seed: 7, Parameters: []float64{0.5}}, testclouds.Law{Kind: "ratio", N: 500, D: 1, Seed: 8, Parameters: []float64{0.5}}},
		{"far away", testclouds.Law{Kind: "normal", N: 200, D: 1, Seed: 9, Parameters: []float64{1000, 1}}, testclouds.Law{Kind: "normal", N: 200, D: 1, Seed: 10, Parameters: []float64{0, 1}}},
		{"plane", testclouds.Law{Kind: "normal", N: 300, D: 2, Seed: 11, Parameters: []float64{0, 1}}, testclouds.Law{Kind: "modes", N: 350, D: 2, Seed: 12, Parameters: []float64{0.3, -2, 2, 0.4}}},
		{"plane, heavy tails", testclouds.Law{Kind: "ratio", N: 300, D: 2, Seed: 13, Parameters: []float64{0.5}}, testclouds.Law{Kind: "ratio", N: 200, D: 2, Seed: 14, Parameters: []float64{0.5}}},
		{"plane, gap filled", testclouds.Law{Kind: "uniform", N: 900, D: 2, Seed: 17, Parameters: []float64{-4, 4}}, testclouds.Law{Kind: "modes", N: 300, D: 2, Seed: 18, Parameters: []float64{0.5, -3, 3, 0.2}}},
		{"seven dimensions", testclouds.Law{Kind: "normal", N: 150, D: 7, Seed: 15, Parameters: []float64{0, 1}}, testclouds.Law{Kind: "normal", N: 130, D: 7, Seed: 16, Parameters: []float64{1, 2}}},
	} {
		to, from := measured(tt.to), measured(tt.from)
		for name, potential := range testPotentials {
			for _, eps := range []float64{100, 1, 0.04, 0.0025, 1e-6} {
				job := Transform{make([]float64, to.n), to, from, make([]float64, from.n)}
				for j := range job.Potential {
					job.Potential[j] = potential(from.x[j], j)
				}
				want := naive(job, eps)
				// A relative error of 2e-9 in a sum, in float32 of 1e-4, or rounding of the
				// largest terms.
				for single, part := range map[bool]float64{false: 2e-9, true: 1e-4} {
					s := Evaluator{Float32: single}
					s.Run(eps, job)
					for i, w := range want {
						tolerance := part*eps + 1e-13*(math.Abs(w)+math.Abs(to.x[i])*20+sq(to.x[i]))
						if !(math.Abs(job.Dst[i]-w) <= tolerance) {
							t.Errorf("%s, potential %s, ε=%g, in float32 %v: softmin[%d] = %.15g, want %.15g (x=%v)", tt.name, name, eps, single, i, job.Dst[i], w, to.x[i])
							break
						}
					}
				}
			}
		}
	}
}

// sumTiles refuses a frame that float32 cannot hold. The box is then halved until it
// fits, or summed in float64, and the values are right.
func TestTilesFallBack(t *testing.T) {
	to := measured(testclouds.Law{Kind: "uniform", N: 64, D: 2, Seed: 97, Parameters: []float64{-1, 1}})
	from := measured(testclouds.Law{Kind: "normal", N: 300, D: 2, Seed: 98, Parameters: []float64{0, 1}})
	job := Transform{make([]float64, to.n), to, from, make([]float64, from.n)}
	for j := range job.Potential {
		job.Potential[j] = 3 * from.x[j]
	}
	for eps, fits := range map[float64]bool{1: true, 0.1: true, 0.004: false, 1e-4: false} {
		var e exponents
		e.set(job.Potential, math.Log2E/eps, from.groups)
		whole := task{Transform: job, exponents: e, eps: eps, single: true}
		got := scratch{levels: make([]sources, 1)}
		var star [2]float64
		top := whole.narrow(&got, 0, &to.tree[0], star[:])
		if got := whole.sumTiles(&got, &got.levels[0], &to.tree[0], top, star[:]); got != fits {
			t.Errorf("ε=%g: a box of two by two fits into one frame: %v", eps, got)
		}
		whole.runDirect(&scratch{}, &to.tree[0])
		for i, w := range naive(job, eps) {
			if !(math.Abs(job.Dst[i]-w) <= 2e-5*eps+1e-13) {
				t.Errorf("ε=%g: softmin[%d] = %v, want %v", eps, i, job.Dst[i], w)
			}
		}
	}
}

// Flat sums equal the definition at any ε, not only where ε is large.
func TestFlatEqualsDefinition(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		a := measured(testclouds.Law{Kind: "normal", N: 150, D: d, Seed: 99, Parameters: []float64{0, 0.1}})
		b := measured(testclouds.Law{Kind: "modes", N: 100, D: d, Seed: 100, Parameters: []float64{0.3, -0.2, 0.2, 0.1}})
		job := Transform{make([]float64, a.n), a, b, make([]float64, b.n)}
		for j := range job.Potential {
			job.Potential[j] = 0.1 * b.x[j]
		}
		for _, eps := range []float64{0.03, 1, 4, 10} { // beyond the reach of the polynomial and within it
			s := Evaluator{Diameter: math.Sqrt(1e-3 / flatRatio)}
			s.Run(eps, job)
			for i, w := range naive(job, eps) {
				if !(math.Abs(job.Dst[i]-w) <= 1e-12+1e-15*eps) {
					t.Errorf("%dD, ε=%g: softmin[%d] = %v, want %v", d, eps, i, job.Dst[i], w)
				}
			}
		}
	}
}

func sq(v float64) float64 { return v * v }

func TestExp2(t *testing.T) {
	for x := -999.9; x < 999.9; x += 0.01237 {
		want := math.Exp2(x)
		if got := exp2(x); !(math.Abs(got-want) <= 5e-11*want) {
			t.Fatalf("exp2(%v) = %v, want %v", x, got, want)
		}
	}
	for _, x := range []float64{0, 0.5, -0.5, 1, -1, math.Nextafter(0.5, 1), exponentRange, -exponentRange} {
		if got, want := exp2(x), math.Exp2(x); !(math.Abs(got-want) <= 5e-11*want) {
			t.Errorf("exp2(%v) = %v, want %v", x, got, want)
		}
	}
}
