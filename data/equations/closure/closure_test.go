package closure_test

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/closure"
	"github.com/ergoflow/ergoflow/data/equations/family"
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
	if err := simulate.EulerMaruyama(t.Context(), x, s, scheme, 1, 0, "closure"); err != nil {
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
		at := make([]float64, len(z))
		for k, v := range z {
			at[k] = float64(v)
		}
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
		for k, v := range z {
			if math.Abs(float64(v-x[k])) > 1e-3 {
				t.Fatalf("%s: z[%d] is %v, want %v", file, k%d, v, x[k])
			}
		}
		if volume := b.LogVolume(); math.IsNaN(volume) || math.IsInf(volume, 0) {
			t.Errorf("%s: log volume %v", file, volume)
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
