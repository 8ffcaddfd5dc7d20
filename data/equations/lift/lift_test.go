package lift_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

var inf = math.Inf(1)

var ranges = []sde.Range{
	sde.WholeLine,
	{Ends: sde.Open, Lo: 0, Hi: inf}, {Ends: sde.Open, Lo: -inf, Hi: 2}, {Ends: sde.Open, Lo: -1, Hi: 2},
	{Ends: sde.Joined, Lo: -1, Hi: 2},
	{Ends: sde.Reflecting, Lo: 0, Hi: inf}, {Ends: sde.Reflecting, Lo: -inf, Hi: 2}, {Ends: sde.Reflecting, Lo: -1, Hi: 2},
}

// States come back, whatever coordinate they have, and every coordinate has a state, unless single
// precision cannot hold it.
func TestUpAndDown(t *testing.T) {
	for _, r := range ranges {
		for _, x := range []float64{0.001, 0.5, 1, 1.999} {
			if back := lift.Down(r, lift.Up(r, x)); math.Abs(back-x) > 1e-12 {
				t.Errorf("%v: %v comes back as %v", r, x, back)
			}
		}
		for _, z := range []float64{-300, -30, -3.3, -1, 0, 2, 7.5, 31, 300} {
			x := lift.Down(r, z)
			if math.Abs(x) > math.MaxFloat32 { // counts as diverged
				continue
			}
			if !r.Contains(float64(r.Single(x))) {
				t.Errorf("%v: the state of %v is %v", r, z, x)
			}
		}
	}
	for _, c := range []struct{ r, z, want float64 }{{4, -1.5, 1.5}, {4, 2, -1}, {4, -13.5, 1.5}, {5, -1.5, 1.5}, {6, 2.5, 1.5}, {7, 2.5, 1.5}, {7, -1.5, -0.5}, {7, 5, -1}, {7, -6, 0}} {
		if x := lift.Down(ranges[int(c.r)], c.z); math.Abs(x-c.want) > 1e-12 {
			t.Errorf("%v: the state of %v is %v, want %v", ranges[int(c.r)], c.z, x, c.want)
		}
	}
}

// Geometric Brownian motion has constant coefficients in its logarithm, dz = (μ − σ²/2)dt + σ dW, with
// each kind of diffusion; behind a reflecting end the drift is turned round.
func TestEquations(t *testing.T) {
	s := expressiontest.Space(t, 2, "i == 0 ? 0.7*x0 : x1 - 3", "i == 0 ? 0.4*x0 : 2")
	s.Domain = sde.Domain{{Ends: sde.Open, Lo: 0, Hi: inf}, {Ends: sde.Reflecting, Lo: 1, Hi: inf}}
	s.Box = []sde.Interval{{Lo: 1, Hi: 2}, {Lo: 1, Hi: 2}}
	lifted := lift.Of(s)
	if err := lifted.Validate(); err != nil {
		t.Fatal(err)
	}
	drift, diffusion := lifted.Coefficients([]float64{-30, 1.5, 0, 0.5, 5, -2})
	for i, want := range []float64{0.62, -1.5, 0.62, 1.5, 0.62, -1} {
		if math.Abs(drift[i]-want) > 1e-12 {
			t.Errorf("drift %d is %v, want %v", i, drift[i], want)
		}
		if want := []float64{0.4, 2}[i%2]; math.Abs(diffusion[i]-want) > 1e-12 {
			t.Errorf("diffusion %d is %v, want %v", i, diffusion[i], want)
		}
	}
	scalar := expressiontest.Space(t, 2, "x", "1")
	scalar.Box, scalar.Domain = s.Box, sde.Domain{s.Domain[0], sde.WholeLine}
	if _, diffusion := lift.Of(scalar).Coefficients([]float64{math.Log(2), 5}); math.Abs(diffusion[0]-0.5) > 1e-12 || diffusion[1] != 1 {
		t.Errorf("σ·I becomes %v, want 0.5 and 1", diffusion)
	}
	if free := expressiontest.Space(t, 2, "x", "1"); lift.Of(free).Domain != nil || lift.Of(free).Terms != 1 {
		t.Error("an equation without ends is another one")
	}
}

// Slopes and bends of features are their derivatives, and a feature has no slope at a reflecting end
// and no jump where a circle begins again: Lf of x², by hand, agrees.
func TestFeatures(t *testing.T) {
	for _, r := range ranges {
		s := expressiontest.Space(t, 1, "1", "1") // Le = e′ + e″/2
		s.Box, s.Domain = []sde.Interval{{Lo: 0.5, Hi: 1.5}}, sde.Domain{r}
		slopes := expressiontest.Space(t, 1, "1", "0")
		slopes.Box, slopes.Domain = s.Box, s.Domain
		features := lift.Features(s)
		for _, x := range []float64{0.3, 0.8, 1.9} {
			const h = 1e-4
			_, drift := lift.Observed(s, []float64{x}, func(int, []float64) {})
			_, slope := lift.Observed(slopes, []float64{x}, func(int, []float64) {})
			for j, f := range features {
				first, second := (f.Of(x+h)-f.Of(x-h))/(2*h), (f.Of(x+h)-2*f.Of(x)+f.Of(x-h))/(h*h)
				if math.Abs(slope[j]-first) > 1e-5 || math.Abs(drift[j]-first-second/2) > 1e-4*(1+math.Abs(second)) {
					t.Errorf("%v, %s at %v: Le is %v, want %v", r, f.Name, x, drift[j], first+second/2)
				}
			}
		}
		for _, end := range []float64{r.Lo, r.Hi} {
			if math.IsInf(end, 0) || r.Ends == sde.Open {
				continue
			}
			if r.Ends == sde.Reflecting {
				if _, slope := lift.Observed(slopes, []float64{end}, func(int, []float64) {}); math.Abs(slope[0]) > 1e-12 {
					t.Errorf("%v: the feature has the slope %v at %v", r, slope[0], end)
				}
			}
		}
		if r.Ends == sde.Joined {
			for _, f := range features {
				if math.Abs(f.Of(r.Lo)-f.Of(r.Hi)) > 1e-12 {
					t.Errorf("%s jumps from %v to %v", f.Name, f.Of(r.Lo), f.Of(r.Hi))
				}
			}
		}
	}
}

// Numbers in single precision are never outside, however near an end the state is.
func TestSingle(t *testing.T) {
	third := 1. / 3
	for _, r := range []sde.Range{
		{Ends: sde.Open, Lo: third, Hi: 2 * third}, {Ends: sde.Reflecting, Lo: third, Hi: 2 * third}, {Ends: sde.Joined, Lo: third, Hi: 2 * third},
		{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}, {Ends: sde.Open, Lo: 0, Hi: inf},
	} {
		hi := min(r.Hi, 9)
		for _, x := range []float64{r.Lo, math.Nextafter(r.Lo, 9), r.Lo + 1e-300, hi, math.Nextafter(hi, r.Lo), (r.Lo + hi) / 2} {
			if v := r.Single(x); !r.Contains(float64(v)) || math.Abs(float64(v)-x) > 1e-6 && r.Ends != sde.Joined {
				t.Errorf("%v: %v became %v", r, x, v)
			}
		}
	}
	states := []float32{0.5, 3}
	if at := (sde.Domain{sde.WholeLine, {Ends: sde.Joined, Lo: 0, Hi: 3}}).Outside(slices.Concat([]float32{9, 1}, states)); at != 3 {
		t.Errorf("the first number outside is %d, want 3", at)
	}
}
