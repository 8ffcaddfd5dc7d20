package density

import (
	"errors"
	"math"
	"testing"
)

// The part of the line where states are decides: between zeros of σ each has a law of its own.
func TestVisited(t *testing.T) {
	one := constant(1)
	x := func(x float64) float64 { return x }
	minus := func(x float64) float64 { return -x }
	both, right := []float64{-2, -1, -0.5, 0.5, 1, 2}, []float64{0.2, 0.5, 1, 2}
	for _, c := range []struct {
		name     string
		b, sigma func(x float64) float64
		states   []float64
		want     error
		means    []float64
	}{
		{"normal", minus, one, both, nil, []float64{0}},
		{"far narrow states", func(x float64) float64 { return -(x - 1e6) }, constant(1e-3), []float64{1e6, 1e6 + 1e-3}, nil, []float64{1e6}},
		{"one state", minus, one, []float64{1}, nil, []float64{0}},
		{"no drift", constant(0), one, both, ErrNotNormalisable, nil},
		{"constant drift", one, one, both, ErrNotNormalisable, nil},
		{"outward", x, one, both, ErrNotNormalisable, nil},
		// X = X₀ exp(−3t/2 + W): it goes to 0.
		{"geometric", minus, x, both, ErrNotNormalisable, nil},
		{"geometric, of one sign", minus, math.Abs, right, ErrNotNormalisable, nil},
		{"geometric, near zero", minus, x, []float64{1e-80, 1e-70, 1e-60, 2e-60}, ErrNotNormalisable, nil},
		{"geometric, over many scales", minus, x, []float64{-1e-3, -1e-20, 1e-80, 1e-75, 1e-70, 1e-60, 1e-40, 1e-30, 1e-20, 1e-12, 1e-11, 1e-10}, ErrNotNormalisable, nil},
		// A Beta law of shapes 0.1 and 1, with a twentieth of its mass nearer to 0 than 1e-13.
		{"two ends", func(x float64) float64 { return 0.1 - 1.1*x }, func(x float64) float64 { return math.Sqrt(2 * x * (1 - x)) }, []float64{1e-9, 1e-7, 1e-6, 1e-5, 1e-4, 0.01, 0.5}, nil, []float64{1. / 11}},
		{"growing", func(x float64) float64 { return 2 * x }, x, right, ErrNotNormalisable, nil},
		// σ = x and a drift of 1 at zero carry chains to positive x and keep them there; the law is
		// an inverse Gamma of shape 3 and scale 2.
		{"inverse Gamma", func(x float64) float64 { return 1 - x }, x, right, nil, []float64{1}},
		{"logistic", func(x float64) float64 { return x * (1 - x) }, func(x float64) float64 { return 0.5 * x }, right, nil, []float64{0.875}}, // Gamma of shape 7, rate 8
		{"two parts", func(x float64) float64 { return x - x*x*x }, func(x float64) float64 { return 0.5 * x }, both, nil, []float64{-1, 1}},
		{"touching", func(x float64) float64 { return x - x*x*x }, func(x float64) float64 { return 0.5 * math.Abs(x) }, both, nil, []float64{-1, 1}},
		{"half-line", func(x float64) float64 { return 1.5 - x }, math.Sqrt, right, nil, []float64{1.5}},
		{"no noise", minus, constant(0), both, ErrNoValue, nil},
		{"at rest", minus, x, []float64{0, 0, 0}, ErrNoValue, nil},
		{"nothing", minus, one, nil, ErrNoValue, nil},
	} {
		lines, err := Visited(formula(c.b), formula(c.sigma), c.states)
		if !errors.Is(err, c.want) || len(lines) != len(c.means) {
			t.Errorf("%s: %d parts, error %v, want %v", c.name, len(lines), err, c.want)
			continue
		}
		for i, l := range lines {
			if got := l.Mean(); !(math.Abs(got-c.means[i]) <= 0.1) || len(lines) == 1 && !(math.Abs(got-c.means[i]) <= 1e-6) {
				t.Errorf("%s: part %d has the mean %g, want %g", c.name, i, got, c.means[i])
			}
		}
	}
}

func TestZeros(t *testing.T) {
	states := []float64{-3, -1, 0.3, 2.9}
	for _, c := range []struct {
		name  string
		sigma func(x float64) float64
		want  []float64
	}{
		{"none", func(x float64) float64 { return 1 + x*x }, nil},
		{"small, not zero", func(x float64) float64 { return 1e-3 + math.Abs(x-0.0123) }, nil},
		{"sign", func(x float64) float64 { return x - 0.0123 }, []float64{0.0123}},
		{"touch", func(x float64) float64 { return math.Abs(x - 0.0123) }, []float64{0.0123}},
		{"square", func(x float64) float64 { return (x - 0.0123) * (x - 0.0123) }, []float64{0.0123}},
		{"two", func(x float64) float64 { return 1 - x*x }, []float64{-1, 1}},
		{"outside", func(x float64) float64 { return math.Abs(x - 50) }, []float64{50}},
	} {
		got := zeros(formula(c.sigma), states)
		ok := len(got) == len(c.want)
		for i := range got {
			ok = ok && math.Abs(got[i]-c.want[i]) <= 1e-6
		}
		if !ok {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
