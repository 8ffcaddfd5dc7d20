package repair

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// The distance of two lists is Kolmogorov and Smirnov's, with ties.
func TestApart(t *testing.T) {
	for _, test := range []struct {
		a, b []float64
		want float64
	}{
		{[]float64{1, 2, 3, 4}, []float64{1, 2, 3, 4}, 0},
		{[]float64{1, 2, 3, 4}, []float64{5, 6, 7, 8}, 1},
		{[]float64{1, 1, 1, 2}, []float64{1, 2, 2, 2}, 0.5},
		{[]float64{0, 3}, []float64{1, 2}, 0.5},
	} {
		if got := apart([][]float64{{0, 0}, test.a}, [][]float64{{0, 0}, test.b}); got != test.want {
			t.Errorf("%v and %v are %g apart, want %g", test.a, test.b, got, test.want)
		}
	}
}

// The paired test sees a drift that is far too small for Kolmogorov and Smirnov, because chains
// remember where they were; it sees a change of spread alone; and chance is no drift.
func TestPaired(t *testing.T) {
	const n = 1000
	rng := random.New(2, "repair/paired")
	x, noise := make([]float64, n), make([]float64, n)
	for i := range x {
		x[i], noise[i] = rng.NormFloat64(), rng.NormFloat64()
	}
	moved := func(of func(x, noise float64) float64) [][]float64 {
		y := make([]float64, n)
		for i := range y {
			y[i] = of(x[i], noise[i])
		}
		return [][]float64{y}
	}
	before := [][]float64{x}
	order := sorted(before)
	for _, test := range []struct {
		what         string
		after        [][]float64
		drifts       bool
		memory, most float64 // least and most
	}{
		{"nothing moves", before, false, 1, 1},
		{"a slow drift", moved(func(x, e float64) float64 { return x + 0.02 + 0.05*e }), true, 0.99, 1},
		{"a slow growth", moved(func(x, e float64) float64 { return 1.02*x + 0.05*e }), true, 0.99, 1},
		{"stationary, slow", moved(func(x, e float64) float64 { return 0.995*x + math.Sqrt(1-0.995*0.995)*e }), false, 0.98, 1},
		{"stationary, half forgotten", moved(func(x, e float64) float64 { return 0.5*x + math.Sqrt(0.75)*e }), false, 0.4, 0.6},
		{"independent", moved(func(_, e float64) float64 { return e }), false, 0, 0.1},
	} {
		drift, memory := paired(before, test.after, order)
		if (drift > drifts(1)) != test.drifts || memory < test.memory-1e-12 || memory > test.most+1e-12 {
			t.Errorf("%s: |z| is %.2f, the bound %.2f, the memory %.3f", test.what, drift, drifts(1), memory)
		}
		if a := apart(order, sorted(test.after)); a > still*math.Sqrt(2./n) {
			t.Errorf("%s: Kolmogorov and Smirnov see it: %.3f", test.what, a)
		}
	}
	for v, want := range map[float64]float64{0: 0, 1: 0.25, 1.5: 0.5, 2: 0.625, 3: 0.875, 4: 1} {
		if got := rank([]float64{1, 1, 2, 3}, v); got != want {
			t.Errorf("the rank of %g is %g, want %g", v, got, want)
		}
	}
}
