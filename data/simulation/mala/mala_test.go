package mala

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// planeLaw is the law ∝ exp(−V) of b = −∇V and σ = √2·I.
func planeLaw(t *testing.T, slope func(x, y float64) (u, v float64)) gibbs.Law {
	t.Helper()
	x := make([]float64, 400)
	rng := rand.New(rand.NewPCG(3, 4))
	for i := range x {
		x[i] = rng.NormFloat64()
	}
	law, err := gibbs.NewPlane(func(b, s, x, y []float64) {
		for i := range x {
			u, v := slope(x[i], y[i])
			b[2*i], b[2*i+1] = -u, -v
			copy(s[4*i:], []float64{math.Sqrt2, 0, 0, math.Sqrt2})
		}
	}, x)
	if err != nil {
		t.Fatal(err)
	}
	return law
}

func starts(n int, deviation float64) []float32 {
	x := make([]float32, n)
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range x {
		x[i] = float32(deviation * rng.NormFloat64())
	}
	return x
}

// Chains from a wrong law reach the exact moments, whatever their time step: of a normal law, of
// one whose slope grows fast, and of particles in a trap, whose coordinates are independent.
func TestMoments(t *testing.T) {
	const n = 1 << 12
	quartic := 2 * math.Gamma(0.75) / math.Gamma(0.25) // E x² of exp(−x⁴/4)
	trap := sde.Particles{N: 3, Trap: 2, Noise: 1, Force: sde.Tabulate(func(float64) float64 { return 0 }, 0, 1)}
	for name, test := range map[string]struct {
		law  gibbs.Law
		want []float64 // E x² of the coordinates
	}{
		"normal":    {planeLaw(t, func(x, y float64) (float64, float64) { return x, 4 * y }), []float64{1, 0.25}},
		"quartic":   {planeLaw(t, func(x, y float64) (float64, float64) { return x * x * x, y }), []float64{quartic, 1}},
		"particles": {gibbs.NewParticles(trap), []float64{0.25, 0.25, 0.25, 0.25, 0.25, 0.25}},
	} {
		d := test.law.Dim()
		x := starts(n*d, 0.3)
		again := slices.Clone(x)
		r, err := Run(t.Context(), x, test.law, Options{Steps: 200, Seed: 5})
		if err != nil || math.Abs(r.Accepted-wanted) > 0.1 || r.Steps != 200 || !(r.DT > 0) {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		for k, want := range test.want {
			var mean, square, fourth float64
			for i := k; i < len(x); i += d {
				v := float64(x[i])
				mean += v / n
				square += v * v / n
				fourth += v * v * v * v / n
			}
			if e := math.Sqrt((fourth - square*square) / n); math.Abs(square-want) > 4*e || math.Abs(mean) > 4*math.Sqrt(square/n) {
				t.Errorf("%s: coordinate %d has the mean %.4f and the square %.4f ± %.4f, want 0 and %.4f", name, k, mean, square, e, want)
			}
		}
		if _, err := Run(t.Context(), again, test.law, Options{Steps: 200, Seed: 5}); err != nil || !slices.Equal(x, again) {
			t.Errorf("%s: the same seed gives other states (%v)", name, err)
		}
	}
}

// Draws of the law stay draws of it: with a time step that is much too long the chains hardly
// move, and are right nevertheless, where Euler–Maruyama would make the variance four times as large.
func TestInvariant(t *testing.T) {
	const n = 1 << 15
	law := planeLaw(t, func(x, y float64) (float64, float64) { return x, y })
	x := starts(2*n, 1)
	r, err := Run(t.Context(), x, law, Options{Steps: 4, DT: 1.5, Seed: 1})
	if err != nil || !(r.Accepted > 0.1 && r.Accepted < 0.9) {
		t.Fatalf("%+v, %v", r, err)
	}
	var square float64
	for _, v := range x {
		square += float64(v) * float64(v) / float64(len(x))
	}
	if math.Abs(square-1) > 4*math.Sqrt(2./float64(len(x))) {
		t.Errorf("the variance is %.4f after %+v", square, r)
	}
}

func TestErrors(t *testing.T) {
	law := planeLaw(t, func(x, y float64) (float64, float64) { return x, y })
	for _, o := range []Options{{}, {Steps: -1}} {
		if _, err := Run(t.Context(), make([]float32, 4), law, o); err == nil {
			t.Errorf("%+v is taken", o)
		}
	}
	if _, err := Run(t.Context(), make([]float32, 3), law, Options{Steps: 1}); err == nil {
		t.Error("half a state is moved")
	}
	steep := planeLaw(t, func(x, y float64) (float64, float64) { return x * x * x, y })
	if _, err := Run(t.Context(), []float32{1e6, 0}, steep, Options{Steps: 20, Seed: 1}); !errors.Is(err, ErrStuck) {
		t.Errorf("far out: %v", err)
	}
}
