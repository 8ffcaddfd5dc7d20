package smc

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// law is that of b = −∇V and σ = √2·I, exp(−V).
func law(t *testing.T, slope func(x, y float64) (u, v float64)) gibbs.Law {
	t.Helper()
	l, err := gibbs.NewPlane(func(b, s, x, y []float64) {
		for i := range x {
			u, v := slope(x[i], y[i])
			b[2*i], b[2*i+1] = -u, -v
			copy(s[4*i:], []float64{math.Sqrt2, 0, 0, math.Sqrt2})
		}
	}, []float64{-1, 0, 1, 0.5, 0.3, -1})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// draws of a model: of two wells at x = ±1 with deviation s, right with probability part.
func draws(part, s float64) []float32 {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float32, 2*Draws)
	for i := 0; i < len(x); i += 2 {
		well := -1.
		if rng.Float64() < part {
			well = 1
		}
		x[i], x[i+1] = float32(well+s*rng.NormFloat64()), float32(1.5*rng.NormFloat64())
	}
	return x
}

// Wells that chains would not leave in any time get their right masses, from draws with wrong
// ones: V = 12(x²−1)² − x/2 + y²/2, whose mass on the right is by quadrature.
func TestWells(t *testing.T) {
	const n = 4096
	v := func(x float64) float64 { return 12*(x*x-1)*(x*x-1) - x/2 }
	var right, all, square float64
	for x := -3.; x < 3; x += 1e-4 {
		p := math.Exp(-v(x))
		all += p
		square += x * x * p
		if x > 0 {
			right += p
		}
	}
	right, square = right/all, square/all
	l := law(t, func(x, y float64) (float64, float64) { return 48*x*(x*x-1) - 0.5, y })
	for _, part := range []float64{0.5, 0.1} {
		x, r, err := Run(t.Context(), draws(part, 0.3), l, n, 3)
		if err != nil || len(x) != 2*n || r.Stages < 2 || r.Ancestors > n || !(r.KHat < 0.7) {
			t.Fatalf("%+v, %v", r, err)
		}
		var count, sx, sy float64
		for i := 0; i < len(x); i += 2 {
			if x[i] > 0 {
				count += 1. / n
			}
			sx += float64(x[i]) * float64(x[i]) / n
			sy += float64(x[i+1]) * float64(x[i+1]) / n
		}
		if e := math.Sqrt(right * (1 - right) / r.Ancestors); math.Abs(count-right) > 4*e {
			t.Errorf("from %g: mass %.3f on the right, want %.3f ± %.3f", part, count, right, e)
		}
		if math.Abs(sx-square) > 0.02 || math.Abs(sy-1) > 4*math.Sqrt(2/r.Ancestors) {
			t.Errorf("from %g: squares %.3f and %.3f, want %.3f and 1", part, sx, sy, square)
		}
		again, _, err := Run(t.Context(), draws(part, 0.3), l, n, 3)
		if err != nil || !slices.Equal(x, again) {
			t.Errorf("the same seed gives other samples (%v)", err)
		}
	}
}

// The density of the smoothed draws integrates to 2π, its constant, its gradient is that of its
// logarithm, and its own draws have its moments.
func TestSmoothed(t *testing.T) {
	m := smooth(draws(0.3, 0.3))
	var mass, first float64
	const h = 0.05
	for x := -10.; x < 10; x += h {
		var states []float64
		for y := -12.; y < 12; y += h {
			states = append(states, x, y)
		}
		for i, l := range m.at(states).Log {
			mass += math.Exp(l) * h * h
			first += states[2*i] * math.Exp(l) * h * h
		}
	}
	if math.Abs(mass/(2*math.Pi)-1) > 1e-3 {
		t.Errorf("the mass is %g", mass)
	}
	x := m.draw(1<<15, 1)
	var mean, square float64
	for i := 0; i < len(x); i += 2 {
		mean += float64(x[i]) / (1 << 15)
		square += float64(x[i]) * float64(x[i]) / (1 << 15)
	}
	if want := first / mass; math.Abs(mean-want) > 4*math.Sqrt(square/(1<<15)) {
		t.Errorf("draws have the mean %.4f, the density %.4f", mean, want)
	}
	at := []float64{0.2, -0.4}
	p := m.at(at)
	for k := range 2 {
		near := slices.Clone(at)
		near[k] += 1e-6
		if rise := (m.at(near).Log[0] - p.Log[0]) / 1e-6; math.Abs(rise-p.Gradient[k]) > 1e-4*(1+math.Abs(rise)) {
			t.Errorf("the slope %g is not the gradient %g", rise, p.Gradient[k])
		}
	}
}

// A law where the model has no draw at all, and with draws that are far too narrow.
func TestFar(t *testing.T) {
	far := law(t, func(x, y float64) (float64, float64) { return 400 * (x - 40), 400 * (y - 40) })
	x, r, err := Run(t.Context(), draws(0.5, 0.3), far, 256, 1)
	if err == nil && r.Ancestors > 50 {
		t.Errorf("draws worth %+v lead to %v", r, x[:4])
	}
	if err != nil && !errors.Is(err, ErrStages) {
		t.Error(err)
	}
	if _, _, err := Run(t.Context(), draws(0.5, 0.3), gibbs.NewParticles(sde.Particles{N: 3, Noise: 1}), 10, 1); err == nil {
		t.Error("particles are taken")
	}
}
