package metrics

import (
	"math"
	"testing"
)

// A series is what the definition says, to its tolerance, wherever it does not
// refuse; and where it refuses it has done nothing.
func TestSeriesEqualsDefinition(t *testing.T) {
	for _, tt := range []struct {
		name     string
		to, from goldenCloud
	}{
		{"normal", goldenCloud{Kind: "normal", N: 700, D: 3, Seed: 31, Parameters: []float64{0, 1}}, goldenCloud{Kind: "modes", N: 650, D: 3, Seed: 32, Parameters: []float64{0.3, -2, 2, 0.4}}},
		{"far away", goldenCloud{Kind: "normal", N: 640, D: 3, Seed: 33, Parameters: []float64{1000, 1}}, goldenCloud{Kind: "normal", N: 801, D: 3, Seed: 34, Parameters: []float64{0, 1}}},
		{"five dimensions", goldenCloud{Kind: "uniform", N: 900, D: 5, Seed: 35, Parameters: []float64{-1, 1}}, goldenCloud{Kind: "normal", N: 900, D: 5, Seed: 36, Parameters: []float64{0, 1}}},
	} {
		to, from := newMeasure(tt.to.cloud(t)), newMeasure(tt.from.cloud(t))
		for name, potential := range testPotentials {
			for eps, fits := range map[float64]bool{1000: true, 100: true, 0.1: false} {
				job := transform{make([]float64, to.n), to, from, make([]float64, from.n)}
				for j := range job.potential {
					job.potential[j] = potential(from.x[j], j)
				}
				var e exponents
				e.set(job.potential, math.Log2E/eps, from.groups)
				whole := task{transform: job, exponents: e, eps: eps, single: true}
				if got := whole.runSeries(&scratch{}, &to.tree[0]); got != fits {
					t.Errorf("%s, potential %s, ε=%g: a series pays: %v", tt.name, name, eps, got)
				}
				if !fits {
					for i, v := range job.dst {
						if v != 0 {
							t.Fatalf("%s, potential %s, ε=%g: refused, but softmin[%d] = %v", tt.name, name, eps, i, v)
						}
					}
					continue
				}
				for i, w := range naive(job, eps) {
					if !(math.Abs(job.dst[i]-w) <= seriesTolerance*eps+1e-13*(math.Abs(w)+sq(to.x[i]))) {
						t.Errorf("%s, potential %s, ε=%g: softmin[%d] = %.15g, want %.15g", tt.name, name, eps, i, job.dst[i], w)
						break
					}
				}
			}
		}
	}
}

// A series of all degrees is an exponential: what kernels add up agrees with the
// sum over pairs, and with the plain kernels.
func TestSeriesKernels(t *testing.T) {
	g := goldenCloud{Seed: 37}
	number := func(i, k int) float64 { return g.uniform(i, k) - 0.5 }
	var x, y, sums, plain seriesBlock
	for i := range x {
		x[i], y[i], sums[i] = number(i, 0), 3*number(i, 1), number(i, 2)
	}
	for terms := 1; terms < 30; terms++ {
		got, want := make([][8]float64, terms), make([][8]float64, terms)
		addPowers(got, &x, &y)
		addPowersPlain(want, &x, &y)
		moment := make([]float64, terms)
		for k, lanes := range want {
			for lane, w := range lanes {
				if math.Abs(got[k][lane]-w) > 1e-14*math.Pow(1.5, float64(k)) {
					t.Errorf("power %d of %d, lane %d: %v, plain %v", k, terms, lane, got[k][lane], w)
				}
			}
			moment[k] = number(k, 3)
		}
		plain = sums
		vector := sums
		sumPowersPlain(&plain, moment, &x, &y)
		sumPowers(&vector, moment, &x, &y)
		for i, w := range plain {
			if math.Abs(vector[i]-w) > 1e-14*math.Pow(1.5, float64(terms)) {
				t.Errorf("%d powers at point %d: %v, plain %v", terms, i, vector[i], w)
			}
		}
	}
	for _, d := range []int{1, 2, 3, 6} {
		const degree, stride = 14, 2 * seriesPoints
		w := series{weight: make([]float64, stride), point: make([]float64, stride*d), sum: make([]float64, stride)}
		for j := range w.point {
			w.point[j] = 2 * number(j, 4)
		}
		for j := range w.weight {
			w.weight[j] = number(j, 5) + 1
		}
		terms := monomials(degree, d, math.MaxInt)
		w.moments(stride, d, degree, terms)
		if w.walk.at != terms {
			t.Errorf("%d monomials of degree %d in %d variables, walked through %d", terms, degree, d, w.walk.at)
		}
		w.evaluate(stride, d, degree) // at the sources themselves
		for i, got := range w.sum {
			var want float64
			for j, weight := range w.weight {
				var e, rest float64
				for k := range d {
					e += w.point[k*stride+i] * w.point[k*stride+j]
				}
				term := 1.0
				for k := range degree + 1 {
					rest += term
					term *= e / float64(k+1)
				}
				want += weight * rest
			}
			if math.Abs(got-want) > 1e-10*math.Abs(want) {
				t.Errorf("%dD: sum %d is %v, want %v", d, i, got, want)
			}
		}
	}
}
