package table

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
)

// The density integrates to one, is the derivative of the distribution function, the quantiles
// invert it, and the samples have it.
func TestLaw(t *testing.T) {
	s, _ := fresh(t, "")
	for _, solver := range []ode.Solver{ode.RK4{Steps: 4}, ode.Euler{Steps: 6}} {
		function := functions(3)[2:]
		law, err := s.Law(t.Context(), function[0], solver)
		if err != nil {
			t.Fatal(err)
		}
		lo, hi := law.Support()
		const n = 200_000
		sum, before := 0., law.CDF(lo)
		for i := range n {
			x := lo + (hi-lo)*(float64(i)+.5)/n
			sum += law.PDF(x) * (hi - lo) / n
			after := law.CDF(lo + (hi-lo)*float64(i+1)/n)
			if d := math.Abs(after - before - law.PDF(x)*(hi-lo)/n); !(d <= 1e-7) {
				t.Fatalf("%s: the distribution function rises by %g at %g, the density says %g", solver, after-before, x, law.PDF(x)*(hi-lo)/n)
			}
			before = after
		}
		if !(math.Abs(sum-1) <= 1e-5) {
			t.Errorf("%s: the density integrates to %g", solver, sum)
		}
		for _, u := range []float64{1e-9, 1e-4, .025, .3, .5, .9, .999, 1 - 1e-9} {
			if got := law.CDF(law.Quantile(u)); !(math.Abs(got-u) <= 1e-9) {
				t.Errorf("%s: the distribution function at the %g-quantile is %g", solver, u, got)
			}
		}
		const draws = 100_000
		x, err := s.Sample(t.Context(), function, draws, solver, 1)
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(x[0])
		apart := 0.
		for i, v := range x[0] {
			apart = max(apart, math.Abs(law.CDF(float64(v))-(float64(i)+.5)/draws))
		}
		if !(apart <= 1.95/math.Sqrt(draws)) { // exceeded once in 1,000 times
			t.Errorf("%s: the samples' distribution function differs by %g", solver, apart)
		}
	}
}

// With a zero velocity the law is the noise, in the states' units.
func TestLawOfNoise(t *testing.T) {
	_, st := fresh(t, "")
	config := deeponet.Paper(nodes)
	clear(st.Parameters[config.Layout().Offsets()[len(config.Layout())-2]:])
	law, err := open(t, config, st, "").Law(t.Context(), functions(1)[0], ode.RK4{Steps: 4})
	if err != nil {
		t.Fatal(err)
	}
	source := random.New(1, "points")
	for range 100 {
		z := 3 * source.NormFloat64()
		want := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / 3
		if got := law.PDF(2 + 3*z); !(math.Abs(got-want) <= 1e-6*want) {
			t.Errorf("the density at z = %g is %g, want %g", z, got, want)
		}
	}
}

// A map that folds the line has the density of all its runs: that of |Z|, but for the corner.
func TestFoldedLaw(t *testing.T) {
	at := func(z float64) knot { return knot{z, math.Sqrt(z*z + 1e-4), z / math.Sqrt(z*z+1e-4)} }
	var all []knot
	for i := range knots {
		k := at(reach*(2*float64(i)/(knots-1)-1) + 1e-5)
		if n := len(all); n > 0 && all[n-1].derivative*k.derivative < 0 {
			all = append(all, fold(all[n-1], k, at)...)
		}
		all = append(all, k)
	}
	law := newLaw(all)
	if len(law.runs) != 2 {
		t.Fatalf("%d runs, want 2", len(law.runs))
	}
	for _, x := range []float64{.1, .5, 1, 2, 3} {
		z := math.Sqrt(x*x - 1e-4)
		want := 2 * math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) * x / z
		if got := law.PDF(x); !(math.Abs(got-want) <= 1e-3*want) {
			t.Errorf("the density at %g is %g, want %g", x, got, want)
		}
		if got, want := law.CDF(x), math.Erf(z/math.Sqrt2); !(math.Abs(got-want) <= 1e-4) {
			t.Errorf("the distribution function at %g is %g, want %g", x, got, want)
		}
	}
	if q := law.Quantile(.5); !(math.Abs(q-math.Hypot(0.67449, 1e-2)) <= 1e-3) {
		t.Errorf("the median is %g", q)
	}
}
