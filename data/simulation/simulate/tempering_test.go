package simulate

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Kronrod's rule is exact for polynomials of degree 22, Gauss's for degree 13.
func TestLineRule(t *testing.T) {
	for degree := range 23 {
		kronrod, gauss := 0., 0.
		for _, p := range rule {
			kronrod += p.weight * math.Pow(p.at, float64(degree))
			gauss += p.gauss * math.Pow(p.at, float64(degree))
		}
		want := 1 / float64(degree+1)
		if math.Abs(kronrod-want) > 1e-14 || degree <= 13 && math.Abs(gauss-want) > 1e-14 {
			t.Errorf("∫x^%d is %.16f and %.16f, want %.16f", degree, kronrod, gauss, want)
		}
	}
}

// The differences of U between replicas are those of its formula, along lines that need one panel and
// along lines that need many.
func TestDifferences(t *testing.T) {
	for name, test := range map[string]struct {
		s sde.Space
		u func(x, y float64) float64 // b = −½A∇U
	}{
		"polynomial": {
			systemOf(t, []string{"x0 - x0^3 + x1/2", "x0/2 - x1"}, []string{"sqrt(2)"}),
			func(x, y float64) float64 { return x*x*x*x/4 - x*x/2 - x*y/2 + y*y/2 },
		},
		"matrix": { // A = [[5, 2], [2, 1]], U = x² + 3y²
			systemOf(t, []string{"-(5*x0 + 6*x1)", "-(2*x0 + 3*x1)"}, []string{"1", "2", "0", "1"}),
			func(x, y float64) float64 { return x*x + 3*y*y },
		},
		"bumps": { // 20 maxima of U on a line of length 10
			systemOf(t, []string{"sin(12*x0) - x0", "-x1"}, []string{"sqrt(2)"}),
			func(x, y float64) float64 { return math.Cos(12*x)/12 + (x*x+y*y)/2 },
		},
	} {
		c, err := newCloud(Fastest(), test.s, Euler, Tempering{4, 100, 1}, 0.01)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		source := NewSource(1, "states", 0)
		for k := range c.ladder.states {
			for l := range lanes {
				c.ladder.states[k][l] = 10*float64(source.Uniform()) - 5
			}
		}
		for l := 0; l < lanes; l += 4 {
			c.ladder.trials = append(c.ladder.trials, trial{cold: l, hot: l + 1})
		}
		c.ladder.potential.differences(c.ladder.layLines())
		at := func(l int) float64 { return test.u(c.ladder.states[0][l], c.ladder.states[1][l]) }
		for _, p := range c.ladder.trials {
			if want := at(p.hot) - at(p.cold); !p.accurate() || math.Abs(p.difference-want) > 1e-6*(1+math.Abs(want)) {
				t.Errorf("%s: the difference of U is %v ± %v, want %v", name, p.difference, p.inaccuracy, want)
			}
		}
	}
}

// wells is a double well with a barrier of 18 kT, tilted. Chains from the right one do not reach
// the left one, in which a part of the law is that left gives.
func wells(t *testing.T) (s sde.Space, left float64) {
	t.Helper()
	s = systemOf(t, []string{"x0 - x0^3 - 0.02"}, []string{"sqrt(0.028)"})
	total := 0.
	for i := range 60_000 {
		x := -3 + float64(i)/10_000
		p := math.Exp(-2 / 0.028 * (x*x*x*x/4 - x*x/2 + 0.02*x))
		if total += p; x < 0 {
			left += p
		}
	}
	return s, left / total
}

// share is the part of chains' last states in the left well.
func share(t *testing.T, s sde.Space, scheme Scheme) float64 {
	t.Helper()
	x := make([]float32, scheme.Chains)
	if err := Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "test"); err != nil {
		t.Fatal(err)
	}
	n := 0.
	for _, v := range x {
		if v < 0 {
			n++
		}
	}
	return n / float64(len(x))
}

// Replicas find both wells with the weights of the law, and chains without them do not, for every
// integrator that suits.
func TestTemperingCrossesBarriers(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: half a minute under the race detector, of code that shorter tests run, too")
	}
	s, left := wells(t)
	for _, i := range []Integrator{Euler, LeimkuhlerMatthews, Heun} {
		scheme := Scheme{DT: 0.02, BurnIn: 10_000, Thin: 1, Chains: 512, Start: "uniform(0.9, 1.1)", Integrator: i}
		if n := share(t, s, scheme); n > 0 {
			t.Errorf("%v: without replicas %.3f of the chains are in the left well, as if the barrier were low", i, n)
		}
		scheme.Tempering = Tempering{4, 20, 20}
		got, deviation := share(t, s, scheme), math.Sqrt(left*(1-left)/float64(scheme.Chains))
		if math.Abs(got-left) > 4*deviation {
			t.Errorf("%v: %.3f of the chains are in the left well, want %.3f ± %.3f", i, got, left, deviation)
		}
	}
}

// Exchanges leave the law of a scheme as it is.
func TestTemperingKeepsTheLaw(t *testing.T) {
	for i, want := range map[Integrator]float64{ // of dX = −X dt + dW with steps of 0.2
		Euler: 0.5 / (1 - 0.1), LeimkuhlerMatthews: 0.5, Heun: 0.2 / (1 - square(1-0.2+0.02)) * square(1-0.1),
	} {
		const chains, perChain = 2048, 24
		x := make([]float32, chains*perChain)
		scheme := Scheme{DT: 0.2, BurnIn: 100, Thin: 10, Chains: chains, Integrator: i, Tempering: Tempering{4, 5, 5}}
		if err := Fastest().Chains(t.Context(), x, systemOf(t, []string{"-x0"}, []string{"1"}), scheme, 1, 0, "test"); err != nil {
			t.Fatal(err)
		}
		v := 0.
		for _, x := range x {
			v += float64(x) * float64(x) / (chains * perChain)
		}
		t.Logf("%v: variance %.4f, the scheme's %.4f", i, v, want)
		if math.Abs(v/want-1) > chance {
			t.Errorf("%v: variance %.4f, want %.4f", i, v, want)
		}
	}
}

// A chain's samples depend on its number alone: not on the engine, nor on the chains beside it. Without
// tempering they are those of a scheme that does not know of it.
func TestTemperingIsReproducible(t *testing.T) {
	s := systemOf(t, []string{"x0 - x0^3 + x1/2", "x0/2 - x1"}, []string{"1"})
	draw := func(engine string, chains int) []float32 {
		e, err := NewEngine(engine)
		if err != nil {
			t.Fatal(err)
		}
		x := make([]float32, 2*3*chains)
		scheme := Scheme{DT: 0.05, BurnIn: 40, Thin: 3, Chains: chains, Integrator: LeimkuhlerMatthews, Tempering: Tempering{16, 20, 7}}
		if err := e.Chains(t.Context(), x, s, scheme, 1, 5, "test"); err != nil {
			t.Fatal(err)
		}
		return x
	}
	want := draw("go", 7) // two clouds: four chains of 16 replicas, and three
	for _, engine := range Engines() {
		if got := draw(engine, 7); !slices.Equal(got, want) {
			t.Errorf("%s has other samples than go", engine)
		}
		if got := draw(engine, 2); !slices.Equal(got, want[:len(got)]) {
			t.Errorf("%s: two chains have other samples than the first two of seven", engine)
		}
	}
}

// Neighbours far apart in temperature exchange rarely, and the rates say so.
func TestExchanges(t *testing.T) {
	s := systemOf(t, slices.Repeat([]string{"-x0"}, 1), []string{"1"})
	rates := func(tempering Tempering) []float64 {
		r, err := Fastest().Exchanges(t.Context(), s, Scheme{DT: 0.05, Thin: 1, Tempering: tempering}, 4000, 1, 0, "test")
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	// Of N(0, 1) and N(0, q²) the acceptance is 4 arctan(1/q)/π.
	for _, test := range []struct{ hottest, q float64 }{{8, math.Sqrt(2)}, {1000, math.Sqrt(10)}} {
		want := 4 / math.Pi * math.Atan(1/test.q)
		got := rates(Tempering{4, test.hottest, 10})
		if len(got) != 3 {
			t.Fatalf("%d rates of 4 temperatures", len(got))
		}
		for i, r := range got {
			if math.Abs(r-want) > 0.03 {
				t.Errorf("up to %g: %.3f of the exchanges between temperatures %d and %d, want %.3f", test.hottest, r, i, i+1, want)
			}
		}
	}
}

func TestTemperingRefuses(t *testing.T) {
	gradient := systemOf(t, []string{"-x0", "-x1"}, []string{"1"})
	domain := gradient
	domain.Domain = sde.Domain{{Ends: sde.Reflecting, Lo: -1, Hi: 1}}
	for name, test := range map[string]struct {
		t    Tempering
		s    sde.System
		want string
	}{
		"three temperatures": {Tempering{3, 10, 1}, gradient, "tempering.temperatures is 3: must be 2, 4, 8, 16 or 32"},
		"64 temperatures":    {Tempering{64, 10, 1}, gradient, "temperatures is 64"},
		"none":               {Tempering{0, 10, 1}, gradient, "temperatures is 0"},
		"cold":               {Tempering{4, 1, 1}, gradient, "tempering.hottest is 1: must be above 1"},
		"no number":          {Tempering{4, math.NaN(), 1}, gradient, "tempering.hottest is NaN"},
		"never":              {Tempering{4, 10, 0}, gradient, "tempering.every is 0 steps"},
		"turning":            {Tempering{4, 10, 1}, systemOf(t, []string{"-x0 + x1", "-x0 - x1"}, []string{"1"}), "needs a drift that is a gradient"},
		"velocities":         {Tempering{4, 10, 1}, systemOf(t, []string{"x1", "-x0 - x1"}, []string{"0", "1"}), "noise of all coordinates"},
		"noise by the state": {Tempering{4, 10, 1}, systemOf(t, []string{"-x0"}, []string{"sqrt(1 + x0^2)"}), "does not depend on the state"},
		"ends":               {Tempering{4, 10, 1}, domain, "states without ends"},
		"a grid":             {Tempering{4, 10, 1}, sde.Coefficients{}, "families with a box"},
	} {
		if err := test.t.Fits(test.s); !errors.Is(err, ErrTempering) || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
	if err := (Tempering{}).Fits(sde.Coefficients{}); err != nil {
		t.Errorf("none: %v", err)
	}
	// A hot replica that explodes is named.
	explodes := systemOf(t, []string{"-x0^3"}, []string{"1"})
	err := Fastest().Chains(t.Context(), make([]float32, 8), explodes, Scheme{DT: 0.1, BurnIn: 5000, Thin: 1, Chains: 8, Tempering: Tempering{8, 1000, 10}}, 1, 0, "test")
	if !errors.Is(err, ErrDiverged) || !strings.Contains(err.Error(), "of the replica at temperature") {
		t.Errorf("explodes: %v", err)
	}
}

// The description of a data set without tempering is as before, and so is its hash.
func TestTemperingIsLeftOut(t *testing.T) {
	s := Scheme{DT: 0.1, Thin: 1, Chains: 1}
	plain, err := json.Marshal(s)
	if err != nil || strings.Contains(string(plain), "tempering") {
		t.Errorf("%s, %v", plain, err)
	}
	s.Tempering = Tempering{4, 10, 2}
	tempered, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(tempered), `"tempering":{"temperatures":4,"hottest":10,"every":2}`) {
		t.Errorf("%s, %v", tempered, err)
	}
}

// An exchange costs some evaluations, so that its time goes with their number and not with the dimension.
func BenchmarkTempering(b *testing.B) {
	drift := make([]string, 32)
	for i := range drift {
		drift[i] = fmt.Sprintf("x%d + x%d - x%d^3", (i+1)%32, (i+31)%32, i)
	}
	c, err := expression.CompileSystem(32, drift, []string{"sqrt(2)"}, nil)
	if err != nil {
		b.Fatal(err)
	}
	s, err := c.Space(slices.Repeat([]sde.Interval{{Lo: -4, Hi: 4}}, 32), nil)
	if err != nil {
		b.Fatal(err)
	}
	for _, t := range []Tempering{{}, {8, 4, 20}, {8, 4, 1 << 30}} {
		b.Run(t.String(), func(b *testing.B) {
			const steps = 1000
			scheme := Scheme{DT: 0.01, BurnIn: steps, Thin: 1, Chains: 64 / t.Replicas(), Tempering: t}
			x := make([]float32, scheme.Chains*32)
			for b.Loop() {
				if err := Fastest().Chains(b.Context(), x, s, scheme, 1, 0, "test"); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*steps*64), "ns/step")
		})
	}
}
