package certificate

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

func inSpace(t *testing.T, dim int, drift, diffusion string) Subject {
	t.Helper()
	return Subject{Unlearned: math.NaN(), Equation: Space{expressiontest.Space(t, dim, drift, diffusion)}}
}

// Normal laws of linear equations are good, also with rotations and with noise of velocities alone.
// Narrow, shifted and uncorrelated ones are not.
func TestSpace(t *testing.T) {
	turned := "-x[i] + (i % 2 == 0 ? -x[(i+1) % dim] : x[(i-1) % dim])" // of pairs
	langevin := "i < 3 ? x[i+3] : -x[i-3] - x[i]"
	pulled := "-x - 2*mean(x)" // stiff along (1, 1, …): the variance there is a third
	for _, test := range []struct {
		name, drift, diffusion string
		dim                    int
		change                 func(x []float32)
		want                   Verdict
	}{
		{"good", "-x", "sqrt(2)", 10, nil, Good},
		{"one dimension", "-x", "sqrt(2)", 1, nil, Good},
		{"turned", turned, "sqrt(2)", 6, nil, Good},
		{"turned, narrow", turned, "sqrt(2)", 6, func(x []float32) { scale(x, 0.7) }, Refused},
		{"one axis of ten is wide", "-x", "sqrt(2)", 10, func(x []float32) { scale(x[:1], 1.6) }, Refused},
		{"one axis of ten is shifted", "-x", "sqrt(2)", 10, func(x []float32) { x[3]++ }, Refused},
		{"Langevin", langevin, "i < 3 ? 0 : sqrt(2)", 6, nil, Good},
		{"Langevin, hot", langevin, "i < 3 ? 0 : sqrt(2)", 6, func(x []float32) { scale(x, 1.5) }, Refused},
		{"a correlation is lost", pulled, "sqrt(2)", 3, nil, Refused},
		{"another law along every axis", "-x^3", "sqrt(2)", 4, nil, Refused},
		{"no number", "-x + log(x - 100)", "1", 2, nil, Refused},
	} {
		rng, x := random.New(1, "certificate/space test"), make([]float32, 4096*test.dim)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		if test.change != nil {
			for at := 0; at < len(x); at += test.dim {
				test.change(x[at : at+test.dim])
			}
		}
		if c := inSpace(t, test.dim, test.drift, test.diffusion).Certify(x, test.dim); c.Verdict != test.want {
			t.Errorf("%s: %s, %q", test.name, c.Verdict, c.Reasons)
		}
	}
}

func scale(x []float32, by float32) {
	for i := range x {
		x[i] *= by
	}
}

// Exact draws are called good.
func TestFalseAlarmsInSpace(t *testing.T) {
	s, alarms := inSpace(t, 8, "-x", "sqrt(2)"), 0
	const times = 200
	for k := range times {
		rng, x := random.New(1, "certificate/false alarms", uint64(k)), make([]float32, 1024*8)
		for i := range x {
			x[i] = float32(rng.NormFloat64())
		}
		if c := s.Certify(x, 8); c.Verdict != Good {
			alarms++
		}
	}
	if alarms > times/50 {
		t.Errorf("%d of %d sets of exact draws are not good", alarms, times)
	}
}

// On domains the test has no terms at the ends: draws of the exact laws are good, whatever the ends
// are. Those of other laws are not.
func TestSpaceOnDomains(t *testing.T) {
	inf := math.Inf(1)
	rng := random.New(1, "certificate/domain test")
	vonMises := func(kappa float64) float32 { // by rejection
		for {
			if x := math.Pi * (2*rng.Float64() - 1); rng.Float64() < math.Exp(kappa*(math.Cos(x)-1)) {
				return float32(x)
			}
		}
	}
	circle := sde.Range{Ends: sde.Joined, Lo: -math.Pi, Hi: math.Pi}
	floor := sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: inf}
	positive := sde.Range{Ends: sde.Open, Lo: 0, Hi: inf}
	walls := sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: 1}
	exponential := func(rate float64) float32 { return float32(rng.ExpFloat64() / rate) }
	gamma := func(shape int, rate float64) (sum float32) {
		for range shape {
			sum += exponential(rate)
		}
		return sum
	}
	for _, c := range []struct {
		name, drift, diffusion string
		domain                 sde.Range
		draw                   func() float32
		want                   Verdict
	}{
		{"von Mises", "-2*sin(x[i])", "sqrt(2)", circle, func() float32 { return vonMises(2) }, Good},
		{"von Mises, turned to the cut", "2*sin(x[i])", "sqrt(2)", circle, func() float32 {
			return float32(circle.Wrap(float64(vonMises(2)) + math.Pi))
		}, Good},
		{"von Mises, too flat", "-2*sin(x[i])", "sqrt(2)", circle, func() float32 { return vonMises(1) }, Refused},
		{"von Mises, moved", "-2*sin(x[i])", "sqrt(2)", circle, func() float32 { return float32(circle.Wrap(float64(vonMises(2)) + 0.5)) }, Refused},
		{"uniform", "3", "1", circle, func() float32 { return vonMises(0) }, Good},
		{"reflected Brownian motion", "-1", "1", floor, func() float32 { return exponential(2) }, Good},
		{"reflected, too narrow", "-1", "1", floor, func() float32 { return exponential(3) }, Refused},
		{"between walls", "0", "1", walls, rng.Float32, Good},
		{"between walls, to one side", "0", "1", walls, func() float32 { return float32(math.Sqrt(rng.Float64())) }, Refused},
		{"Cox, Ingersoll and Ross", "2*(1.5 - x[i])", "sqrt(x[i])", positive, func() float32 { return gamma(6, 4) }, Good},
		{"the same, too wide", "2*(1.5 - x[i])", "sqrt(x[i])", positive, func() float32 { return gamma(3, 2) }, Refused},
	} {
		s := expressiontest.Space(t, 3, c.drift+" + 0*x[i]", c.diffusion+" + 0*x[i]")
		s.Domain = sde.Domain{c.domain, c.domain, c.domain}
		for k := range s.Box {
			s.Box[k] = sde.Interval{Lo: max(c.domain.Lo, -4) + 0.1, Hi: min(c.domain.Hi, 4) - 0.1}
		}
		x := make([]float32, 3*4096)
		for i := range x {
			x[i] = c.draw()
		}
		if got := (Subject{Unlearned: math.NaN(), Equation: Space{s}}).Certify(x, 3); got.Verdict != c.want {
			t.Errorf("%s: %s, %q", c.name, got.Verdict, got.Reasons)
		}
	}
}
