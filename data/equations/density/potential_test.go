package density

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The potential is that of the density, −log p, less its least value on the nodes,
// however deep the wells are.
func TestPotentialIsThatOfTheDensity(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for range 20 {
		a, b, c := rng.NormFloat64(), rng.NormFloat64(), rng.NormFloat64()
		e := tabulate(-4, 4, 41,
			func(x float64) float64 { return -x*x*x + 3*a*x + b + math.Sin(5*x+c) },
			func(x float64) float64 { return 0.5 + 0.4*math.Cos(2*x+c) })
		u, err := Potential(e)
		if err != nil {
			t.Fatal(err)
		}
		d := mustNew(t, e)
		least := math.Inf(1)
		for i := range u {
			least = min(least, -math.Log(d.PDF(e.Grid.At(i))))
		}
		if slices.Min(u) != 0 {
			t.Errorf("the least potential is %g", slices.Min(u))
		}
		for i := range u {
			if want := -math.Log(d.PDF(e.Grid.At(i))) - least; !(want >= 700) && !(math.Abs(u[i]-want) <= 1e-9*(1+want)) {
				t.Errorf("node %d: %v, want %v", i, u[i], want)
			}
		}
	}
}

// Of b = −θx and constant σ the potential is θx²/σ²; where the drift points outward
// there is no law but still a potential.
func TestPotentialOfLinearDrift(t *testing.T) {
	for _, theta := range []float64{0.5, 3, -2} {
		c := tabulate(-4, 4, 17, func(x float64) float64 { return -theta * x }, constant(0.5))
		u, err := Potential(c)
		if err != nil {
			t.Fatal(err)
		}
		for i, v := range u {
			x := c.Grid.At(i)
			want := theta * x * x / 0.25
			if theta < 0 {
				want -= theta * 16 / 0.25
			}
			if !(math.Abs(v-want) <= 1e-10) {
				t.Errorf("θ = %g: %v at %g, want %v", theta, v, x, want)
			}
		}
	}
}

func TestPotentialRefuses(t *testing.T) {
	c := tabulate(-1, 1, 5, constant(1), constant(1))
	c.Drift[2] = float32(math.NaN())
	if _, err := Potential(c); !errors.Is(err, sde.ErrNotFinite) {
		t.Errorf("NaN: %v", err)
	}
	if _, err := Potential(tabulate(-1, 1, 5, constant(1), func(x float64) float64 { return 1e-9 + x*x })); err == nil {
		t.Error("a diffusion that is too steep to integrate is accepted")
	}
}

func BenchmarkPotential(b *testing.B) {
	c := tabulate(-5, 5, 256, func(x float64) float64 { return math.Sin(3*x) - x }, func(x float64) float64 { return 1 + 0.5*math.Sin(x) })
	for b.Loop() {
		if _, err := Potential(c); err != nil {
			b.Fatal(err)
		}
	}
}
