package closure_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// functionOf is a function of a family of docs/families.
func functionOf(t testing.TB, name string, i int) sde.Space {
	t.Helper()
	d, err := family.Load(filepath.Join("../../../docs/families", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	f, err := d.Family()
	if err != nil {
		t.Fatal(err)
	}
	function, err := f.Function(1, i)
	if err != nil {
		t.Fatal(err)
	}
	return function.System.(sde.Space)
}

// simulated are samples by chains.
func simulated(t *testing.T, s sde.Space) []float32 {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: ten minutes under the race detector; make test runs it")
	}
	x := make([]float32, 4096*s.Dim())
	scheme := simulate.Scheme{DT: 0.002, BurnIn: 6000, Thin: 500, Chains: 512, Start: "normal(0.5, 1)"}
	if err := simulate.Chains(t.Context(), x, s, scheme, 1, 0, "closure"); err != nil {
		t.Fatal(err)
	}
	return x
}

// second is E zzᵀ.
func second(z []float32, d int) []float64 {
	m := make([]float64, d*d)
	for at := 0; at < len(z); at += d {
		for r := range d {
			for c := range d {
				m[r*d+c] += float64(z[at+r]) * float64(z[at+c]) * float64(d) / float64(len(z))
			}
		}
	}
	return m
}

// The law of a linear equation is N(0, I) in its coordinates, also with noise along some axes alone.
func TestLinearEquations(t *testing.T) {
	for _, name := range []string{"ornstein_uhlenbeck", "langevin"} {
		for i := range 2 {
			s := functionOf(t, name, i)
			z, d := simulated(t, s), s.Dim()
			closure.Of(s).Standardise(z)
			for k, v := range second(z, d) {
				want := 0.
				if k%(d+1) == 0 {
					want = 1
				}
				if math.Abs(v-want) > 0.15 { // 4,096 draws, and Euler's steps
					t.Errorf("%s %d: E z[%d]z[%d] is %.3f, want %g", name, i, k/d, k%d, v, want)
				}
			}
		}
	}
}

// Of other equations with one well the scale is about right.
func TestOtherEquations(t *testing.T) {
	for _, name := range []string{"phi4", "logistic_posterior", "fitzhugh_nagumo"} {
		s := functionOf(t, name, 1)
		z, d := simulated(t, s), s.Dim()
		closure.Of(s).Standardise(z)
		m := second(z, d)
		for k := range d {
			if v := m[k*d+k]; v < 0.2 || v > 5 {
				t.Errorf("%s: E z[%d]² is %.3f", name, k, v)
			}
		}
	}
}

// Whatever an equation is, its coordinates exist and can be undone, and its drift and diffusion are
// those of z.
func TestCoordinates(t *testing.T) {
	files, err := filepath.Glob("../../../docs/families/*.yaml")
	if err != nil || len(files) < 10 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		s := functionOf(t, strings.TrimSuffix(filepath.Base(file), ".yaml"), 3)
		b, d := closure.Of(s), s.Dim()
		var states []float64
		for k := range 70 * d {
			states = append(states, math.Sin(float64(k*k)))
		}
		x := make([]float32, len(states))
		for k, v := range states {
			x[k] = float32(v)
		}
		z := slices.Clone(x)
		b.Restore(z)
		moved := b.Equation(s)
		if err := moved.Validate(); err != nil {
			t.Fatal(file, err)
		}
		if at := s.Domain.Outside(z); at >= 0 {
			t.Fatalf("%s: the state %g is outside the domain", file, z[at])
		}
		restored := slices.Clone(z)
		at := make([]float64, len(z)) // in coordinates without ends
		for k := range at {
			at[k] = b.Mean[k%d]
			for q := range k%d + 1 {
				at[k] += b.Factor[k%d*d+q] * states[k-k%d+q]
			}
		}
		ends := s.Domain.Restricts()
		s = lift.Of(s)
		drift, terms := s.Coefficients(at)
		ours, sigma := moved.Coefficients(states)
		for n := range 70 {
			spread, wide := sde.Spread(terms[n*s.Terms:(n+1)*s.Terms], d), sde.Spread(sigma[n*moved.Terms:(n+1)*moved.Terms], d)
			for r := range d {
				back := 0.
				for k := range r + 1 {
					back += b.Factor[r*d+k] * ours[n*d+k]
				}
				if want := drift[n*d+r]; math.Abs(back-want) > 1e-3*(1+math.Abs(want)) {
					t.Fatalf("%s: component %d of the drift is %v, want %v", file, r, back, want)
				}
				for c := range d { // F·(SSᵀ of z)·Fᵀ
					sum := 0.
					for k := range r + 1 {
						for q := range c + 1 {
							sum += b.Factor[r*d+k] * wide[k*d+q] * b.Factor[c*d+q]
						}
					}
					if math.Abs(sum-spread[r*d+c]) > 1e-3*(1+math.Abs(spread[r*d+c])) {
						t.Fatalf("%s: entry %d, %d of the noise is %v, want %v", file, r, c, sum, spread[r*d+c])
					}
				}
			}
		}
		b.Standardise(z)
		if ends { // several z may have one state
			b.Restore(z)
			x = restored
		}
		for k, v := range z {
			if math.Abs(float64(v-x[k])) > 1e-3 {
				t.Fatalf("%s: z[%d] is %v, want %v", file, k%d, v, x[k])
			}
		}
		if volume := b.LogVolume(); math.IsNaN(volume) != ends || math.IsInf(volume, 0) {
			t.Errorf("%s: log volume %v", file, volume)
		}
	}
}

// Whatever z is, its state is in the domain. On a circle and between two reflecting ends all equations
// have the same coordinates, in which the whole range is seen; beside one such end the law is
// symmetric in them, and near an open end it is that of a logarithm.
func TestDomains(t *testing.T) {
	z := []float32{-40, 40, -3, 3, 0, -1e-6, 1e6, -1e6, float32(math.Inf(1)), float32(math.Inf(-1))}
	for _, c := range []struct {
		domain    sde.Range
		box       sde.Interval
		drift     string
		mean, far float64 // and three deviations, up to a tenth
	}{
		{sde.Range{Ends: sde.Joined, Lo: 1, Hi: 3}, sde.Interval{Lo: 1, Hi: 3}, "sin(pi*x)", 2, 3 * 2 / math.Sqrt(12)},
		{sde.Range{Ends: sde.Reflecting, Lo: -1, Hi: 1}, sde.Interval{Lo: -1, Hi: 1}, "-x", -1, 3 * 4 / math.Sqrt(12)},
		{sde.Range{Ends: sde.Reflecting, Lo: 1, Hi: math.Inf(1)}, sde.Interval{Lo: 1, Hi: 4}, "-(x - 1)", 1, 3 * math.Sqrt(0.5)},
		{sde.Range{Ends: sde.Reflecting, Lo: math.Inf(-1), Hi: 1}, sde.Interval{Lo: -2, Hi: 1}, "1 - x", 1, 3 * math.Sqrt(0.5)},
		// dz = (z's own) −z dt + dW, of x = exp z
		{sde.Range{Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}, sde.Interval{Lo: 0.1, Hi: 10}, "x*(0.5 - log(x))", 0, 3 * math.Sqrt(0.5)},
	} {
		diffusion := "1"
		if c.domain.Ends == sde.Open {
			diffusion = "x"
		}
		s := expressiontest.Space(t, 1, c.drift, diffusion)
		s.Box, s.Domain = []sde.Interval{c.box}, sde.Domain{c.domain}
		b := closure.Of(s)
		if math.Abs(b.Mean[0]-c.mean) > 0.01 || math.Abs(3*b.Factor[0]-c.far) > 0.1*c.far {
			t.Errorf("%v: mean %.3f, three deviations %.3f, want %.3f and %.3f", c.domain, b.Mean[0], 3*b.Factor[0], c.mean, c.far)
		}
		x := slices.Clone(z)
		b.Restore(x)
		for i, v := range x {
			finite := v-v == 0
			if finite && !c.domain.Contains(float64(v)) || !finite && math.Abs(float64(z[i])) < 100 || finite && i >= 8 {
				t.Errorf("%v: z = %g has the state %g", c.domain, z[i], v)
			}
		}
	}
}

// States behind a reflecting end are the mirror images of half of them, and have the same states.
func TestMirror(t *testing.T) {
	s := expressiontest.Space(t, 1, "-x", "1")
	s.Box, s.Domain = []sde.Interval{{Lo: 0, Hi: 3}}, sde.Domain{{Ends: sde.Reflecting, Lo: 0, Hi: math.Inf(1)}}
	b, x := closure.Of(s), make([]float32, 10_000)
	for i := range x {
		x[i] = float32(i+1) / 5000
	}
	z := slices.Clone(x)
	b.Standardise(z)
	behind := 0
	for _, v := range z {
		if v < 0 {
			behind++
		}
	}
	if behind < 4800 || behind > 5200 {
		t.Errorf("%d of 10,000 states are behind the end", behind)
	}
	b.Restore(z)
	for i, v := range z {
		if math.Abs(float64(v-x[i])) > 1e-6 {
			t.Fatalf("the state %g became %g", x[i], v)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	for _, name := range []string{"ornstein_uhlenbeck", "lorenz96", "lorenz63"} {
		s := functionOf(b, name, 0)
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				closure.Of(s)
			}
		})
	}
}
