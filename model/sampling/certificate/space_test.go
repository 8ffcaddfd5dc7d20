package certificate

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
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
