package simulate_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// besselRatio is I₁(κ)/I₀(κ), the mean cosine of von Mises' law, by the series of both.
func besselRatio(kappa float64) float64 {
	var sums [2]float64
	term := 1. // (κ/2)²ᵐ/m!²
	for m := range 60 {
		sums[0] += term
		sums[1] += term * kappa / 2 / float64(m+1)
		term *= kappa * kappa / 4 / float64((m+1)*(m+1))
	}
	return sums[1] / sums[0]
}

// onDomain is an equation whose box is the middle of its domain.
func onDomain(t *testing.T, drift, diffusion string, domain ...sde.Range) sde.Space {
	t.Helper()
	s := expressiontest.Space(t, len(domain), drift, diffusion)
	s.Box = slices.Clone(s.Box)
	for k, r := range domain {
		s.Box[k] = sde.Interval{Lo: max(r.Lo, -9) + 0.1, Hi: min(r.Hi, 9) - 0.1}
	}
	s.Domain = domain
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	return s
}

// simulated draws one state of each of so many chains, which all are in the domain.
func simulated(t *testing.T, s sde.Space, dt float64, steps, chains int, start simulate.Start) []float32 {
	t.Helper()
	x := make([]float32, chains*s.Dim())
	scheme := simulate.Scheme{DT: dt, BurnIn: steps, Thin: 1, Chains: chains, Start: start}
	if err := simulate.Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "ends"); err != nil {
		t.Fatal(err)
	}
	if at := s.Domain.Outside(x); at >= 0 {
		t.Fatalf("the sample %v is outside %v", x[at], s.Domain)
	}
	return x
}

// farthestFrom is the Kolmogorov–Smirnov distance of samples from a distribution function.
func farthestFrom(x []float32, cdf func(float64) float64) (most float64) {
	x = slices.Clone(x)
	slices.Sort(x)
	n := float64(len(x))
	for i, v := range x {
		u := cdf(float64(v))
		most = max(most, math.Abs(u-float64(i)/n), math.Abs(u-float64(i+1)/n))
	}
	return most
}

var inf = math.Inf(1)

// Chains have the laws that are known: within two deviations of the Kolmogorov–Smirnov statistic of
// independent draws, and the bias of the steps.
func TestLawsOnDomains(t *testing.T) {
	const chains, steps, dt, bias = 8192, 1000, 0.005, 0.005
	circle := sde.Range{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}
	vonMises := func(kappa float64) func(float64) float64 {
		const parts = 4096
		sums := make([]float64, parts+1)
		for k := range parts {
			x := -math.Pi + 2*math.Pi*(float64(k)+0.5)/parts
			sums[k+1] = sums[k] + math.Exp(kappa*math.Cos(x))
		}
		return func(x float64) float64 { return sums[int((x+math.Pi)/(2*math.Pi)*parts)] / sums[parts] }
	}
	for _, c := range []struct {
		name, drift, diffusion string
		domain                 sde.Range
		start                  simulate.Start
		cdf                    func(float64) float64
	}{
		{"von Mises", "-2*sin(x)", "sqrt(2)", circle, "", vonMises(2)},
		{"von Mises on a turned circle", "2*sin(x)", "sqrt(2)", circle, "uniform(2, 3)", func(x float64) float64 {
			law := vonMises(2)
			if x < 0 {
				return law(x+math.Pi) - 0.5
			}
			return 0.5 + law(x-math.Pi)
		}},
		{"rotation", "30", "1", sde.Range{Ends: sde.Joined, Lo: 0, Hi: 1}, "uniform(0, 0.1)", func(x float64) float64 { return x }},
		{"Cox, Ingersoll and Ross", "2*(1.5 - x)", "sqrt(x)", sde.Range{Ends: sde.Open, Lo: 0, Hi: inf}, "uniform(1, 2)",
			distuv.Gamma{Alpha: 6, Beta: 4}.CDF},
		{"the same, moved and turned", "2*(-1.5 - (x - 3))", "sqrt(3 - x)", sde.Range{Ends: sde.Open, Lo: -inf, Hi: 3}, "uniform(1, 2)",
			func(x float64) float64 { return 1 - distuv.Gamma{Alpha: 6, Beta: 4}.CDF(3-x) }},
		{"Jacobi", "2 - 5*(x + 1)/2", "sqrt((x + 1)*(1 - x))/2", sde.Range{Ends: sde.Open, Lo: -1, Hi: 1}, "uniform(-0.5, 0.5)",
			func(x float64) float64 { return distuv.Beta{Alpha: 8, Beta: 12}.CDF((x + 1) / 2) }},
		{"reflected Brownian motion", "-2", "1.5", sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: inf}, "uniform(0, 1)",
			distuv.Exponential{Rate: 4 / 2.25}.CDF},
		{"the same, below 1", "2", "1.5", sde.Range{Ends: sde.Reflecting, Lo: -inf, Hi: 1}, "uniform(0, 1)",
			func(x float64) float64 { return math.Exp(4 / 2.25 * (x - 1)) }},
		{"between two walls", "-1", "1", sde.Range{Ends: sde.Reflecting, Lo: -1, Hi: 1}, "uniform(-1, 0)",
			func(x float64) float64 { return (1 - math.Exp(-2*(x+1))) / (1 - math.Exp(-4)) }},
	} {
		if testing.Short() && c.name != "von Mises" && c.name != "reflected Brownian motion" { // a minute under the race detector
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			x := simulated(t, onDomain(t, c.drift, c.diffusion, c.domain), dt, steps, chains, c.start)
			// P(D > 1.95/√n) is 0.001.
			if far, most := farthestFrom(x, c.cdf), 1.95/math.Sqrt(chains)+bias; far > most {
				t.Errorf("distribution functions differ by %.4f, want at most %.4f", far, most)
			}
		})
	}
}

// Two oscillators that pull at each other have a uniform phase each, on the torus, and von Mises'
// law of the phase between them.
func TestLawOnTorus(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a long simulation by the code of TestLawsOnDomains")
	}
	circle := sde.Range{Ends: sde.Joined, Lo: 0, Hi: 2 * math.Pi}
	s := onDomain(t, "2 + 1.5*sin(x[1-i] - x[i])", "sqrt(2)", circle, circle)
	x := simulated(t, s, 0.005, 1000, 8192, "uniform(1, 4)")
	var single, pair [2]float64 // means of (cos, sin)
	n := float64(len(x) / 2)
	for at := 0; at < len(x); at += 2 {
		sin, cos := math.Sincos(float64(x[at]))
		single[0], single[1] = single[0]+cos/n, single[1]+sin/n
		sin, cos = math.Sincos(float64(x[at+1] - x[at]))
		pair[0], pair[1] = pair[0]+cos/n, pair[1]+sin/n
	}
	most := 4/math.Sqrt(n) + 0.004
	if math.Hypot(single[0], single[1]) > most {
		t.Errorf("a phase has the mean %v, want 0 ± %.4f", single, most)
	}
	if want := besselRatio(1.5); math.Abs(pair[0]-want) > most || math.Abs(pair[1]) > most {
		t.Errorf("the phase between has the mean %v, want (%.4f, 0) ± %.4f", pair, want, most)
	}
}

// The symmetrised Euler scheme of reflected Brownian motion has the mean σ²/2μ + μ·dt/2, exactly:
// E|X − μdt + σ√dt·Z|² = EX². So its error is of order 1 in the time step.
func TestReflectionHasOrderOne(t *testing.T) {
	const mu, sigma, chains = 2., 1.5, 65536
	s := onDomain(t, "-2", "1.5", sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: inf})
	for _, dt := range []float64{0.4, 0.2, 0.1} {
		x, mean := simulated(t, s, dt, int(8/dt), chains, "uniform(0, 1)"), 0.
		for _, v := range x {
			mean += float64(v) / chains
		}
		want := sigma*sigma/2/mu + mu*dt/2
		if most := 4 * want / math.Sqrt(chains); math.Abs(mean-want) > most {
			t.Errorf("steps of %g have the mean %.4f, want %.4f ± %.4f", dt, mean, want, most)
		}
	}
}

// Samples do not depend on the engine or on the chains beside, and chains go on from samples.
func TestDomainsAreTheSameEverywhere(t *testing.T) {
	s := onDomain(t, "i == 2 ? 1.5 - x[i] : sin(x[i])*cos(x[(i+1) % dim])", "i == 2 ? sqrt(x[i]) : 0.8",
		sde.Range{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}, sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: 2},
		sde.Range{Ends: sde.Open, Lo: 0, Hi: inf}, sde.WholeLine, sde.Range{Ends: sde.Reflecting, Lo: -inf, Hi: 4})
	scheme := simulate.Scheme{DT: 0.005, BurnIn: 300, Thin: 3, Chains: 70, Start: "uniform(0.5, 1.5)"}
	var want []float32
	for _, name := range simulate.Engines() {
		e, err := simulate.NewEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]float32, 2*scheme.Chains*s.Dim())
		if err := e.Chains(t.Context(), got, s, scheme, 7, 3, "test"); err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		} else if !slices.Equal(got, want) {
			t.Errorf("%s gives other samples", name)
		}
	}
	few := scheme
	few.Chains = 3
	got := make([]float32, 2*few.Chains*s.Dim())
	if err := simulate.Fastest().Chains(t.Context(), got, s, few, 7, 3, "test"); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(got, want[:len(got)]) {
		t.Error("three chains are not the first three of seventy")
	}
	moved := slices.Clone(want)
	if err := simulate.Fastest().Continue(t.Context(), moved, s, 0.005, 50, 7, 3, "test"); err != nil {
		t.Fatal(err)
	}
	if at := s.Domain.Outside(moved); at >= 0 || slices.Equal(moved, want) {
		t.Errorf("chains that go on are outside at %d, or did not move", at)
	}
}

// A chain that an equation leads out of its domain is refused with its place, and so is a start
// outside.
func TestChainsThatLeaveTheirDomain(t *testing.T) {
	positive := sde.Range{Ends: sde.Open, Lo: 0, Hi: inf}
	for _, c := range []struct {
		drift, diffusion string
		domain           sde.Range
		start            simulate.Start
		want             error
		text             string
	}{
		{"-1", "1", positive, "uniform(1, 2)", simulate.ErrLeftDomain, "left the domain (0, inf)"},
		{"0.1 - x", "sqrt(x)", positive, "uniform(1, 2)", simulate.ErrLeftDomain, "function 4, chain"},
		{"1", "1", sde.Range{Ends: sde.Open, Lo: -inf, Hi: 3}, "uniform(1, 2)", simulate.ErrLeftDomain, "left the domain (-inf, 3)"},
		{"x^3", "1", positive, "uniform(1, 2)", simulate.ErrDiverged, "coordinate 1"},
		{"1 - x", "0.1", positive, "normal(0, 1)", simulate.ErrLeftDomain, "outside the domain (0, inf)"},
		{"1 - x", "0.1", sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: inf}, "normal(0, 1)", simulate.ErrLeftDomain, "outside the domain reflect [0, inf)"},
	} {
		s := onDomain(t, c.drift, c.diffusion, c.domain)
		scheme := simulate.Scheme{DT: 0.005, BurnIn: 10_000, Thin: 1, Chains: 64, Start: c.start}
		err := simulate.Fastest().Chains(t.Context(), make([]float32, 64), s, scheme, 1, 4, "ends")
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s, %s: %v, want %q", c.drift, c.diffusion, err, c.text)
		}
	}
}

// Integrators move in coordinates without ends, too. On a circle those of order 2 have a smaller error
// than Euler's steps. Behind an open end noise depends on the state, whatever the formulas say.
func TestIntegratorsOnDomains(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: a long simulation by the code of TestLawsOnDomains")
	}
	const dt, chains = 0.2, 65536
	circle := sde.Range{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}
	positive := sde.Range{Ends: sde.Open, Lo: 0, Hi: inf}
	vonMises := onDomain(t, "-2*sin(x)", "sqrt(2)", circle)
	cir := onDomain(t, "2*(1.5 - x)", "sqrt(x)", positive)
	drawn := func(s sde.Space, i simulate.Integrator, start simulate.Start) []float32 {
		t.Helper()
		x := make([]float32, chains)
		scheme := simulate.Scheme{DT: dt, BurnIn: 40, Thin: 1, Chains: chains, Start: start, Integrator: i}
		if err := simulate.Fastest().Chains(t.Context(), x, s, scheme, 1, 0, "ends"); err != nil {
			t.Fatal(err)
		}
		if at := s.Domain.Outside(x); at >= 0 {
			t.Fatalf("%v: the sample %v is outside %v", i, x[at], s.Domain)
		}
		return x
	}
	miss := make(map[simulate.Integrator]float64)
	for _, i := range []simulate.Integrator{simulate.Euler, simulate.LeimkuhlerMatthews, simulate.Heun} {
		mean := 0.
		for _, x := range drawn(vonMises, i, "") {
			mean += math.Cos(float64(x)) / chains
		}
		miss[i] = math.Abs(mean - besselRatio(2))
	}
	if !(miss[simulate.Euler] > 0.02 && miss[simulate.LeimkuhlerMatthews] < miss[simulate.Euler]/3 && miss[simulate.Heun] < miss[simulate.Euler]/2) {
		t.Errorf("errors of the mean cosine: %v", miss)
	}
	law := distuv.Gamma{Alpha: 6, Beta: 4}.CDF
	euler, platen := farthestFrom(drawn(cir, simulate.Euler, "uniform(1, 2)"), law), farthestFrom(drawn(cir, simulate.Platen, "uniform(1, 2)"), law)
	if !(platen < euler/2) {
		t.Errorf("distances from Cox, Ingersoll and Ross's law: %.4f by Platen's steps, %.4f by Euler's", platen, euler)
	}
	for _, c := range []struct {
		system sde.Space
		want   simulate.Integrator
		order  int
	}{
		{vonMises, simulate.LeimkuhlerMatthews, 2},
		{cir, simulate.Platen, 2},
		{onDomain(t, "-2", "1.5", sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: inf}), simulate.LeimkuhlerMatthews, 1},
		{onDomain(t, "1 - x", "1", positive), simulate.Platen, 2},
	} {
		if got := simulate.Suited(c.system); got != c.want || got.Order(c.system) != c.order {
			t.Errorf("%v: suited is %v of order %d, want %v of order %d", c.system.Domain, got, got.Order(c.system), c.want, c.order)
		}
	}
	if err := simulate.LeimkuhlerMatthews.Fits(onDomain(t, "1 - x", "1", positive)); !errors.Is(err, simulate.ErrIntegrator) {
		t.Errorf("constant noise behind an open end, whose logarithm has another: %v", err)
	}
}
