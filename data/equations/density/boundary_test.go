package density

import (
	"errors"
	"math"
	"testing"
)

// The kinds of boundaries of classical diffusions (Karlin and Taylor 1981, 15.6; Borodin and
// Salminen, Handbook of Brownian Motion, appendix 1).
func TestBoundaryAt(t *testing.T) {
	cir := func(a, m float64) func(float64) float64 { return func(x float64) float64 { return a * (m - x) } }
	bessel := func(dimension float64) func(float64) float64 {
		return func(x float64) float64 { return (dimension - 1) / (2 * x) }
	}
	jacobi := func(alpha, beta float64) func(float64) float64 {
		return func(x float64) float64 { return alpha*(1-x) - beta*x }
	}
	wright := func(x float64) float64 { return math.Sqrt(x * (1 - x)) }
	logistic := func(x float64) float64 { return x * (1 - x) }
	inf := math.Inf(1)
	for _, c := range []struct {
		name   string
		b, s   func(float64) float64
		end, x float64
		want   Boundary
	}{
		{"Brownian motion at 0", constant(0), constant(1), 0, 1, Regular},
		{"Brownian motion at −3", constant(0), constant(1), -3, 1, Regular},
		{"Brownian motion at ∞", constant(0), constant(1), inf, 1, Natural},
		{"Ornstein–Uhlenbeck at ∞", func(x float64) float64 { return -x }, constant(1), inf, 0, Natural},
		{"Ornstein–Uhlenbeck at −∞", func(x float64) float64 { return -x }, constant(1), -inf, 0, Natural},
		{"cubic at ∞", func(x float64) float64 { return -x * x * x }, constant(1), inf, 0, Entrance},
		{"cubic at −∞", func(x float64) float64 { return -x * x * x }, constant(1), -inf, 0, Entrance},
		{"linear growth at ∞", func(x float64) float64 { return x }, constant(1), inf, 0, Natural},
		{"explosion at ∞", func(x float64) float64 { return x * x }, constant(1), inf, 0, Exit},
		{"logistic at 0", logistic, func(x float64) float64 { return 0.5 * x }, 0, 1, Natural},
		{"logistic with strong noise at 0", logistic, func(x float64) float64 { return 2 * x }, 0, 1, Natural},
		{"logistic at ∞", logistic, func(x float64) float64 { return 0.5 * x }, inf, 1, Entrance},
		{"geometric Brownian motion at 0", func(x float64) float64 { return -x }, func(x float64) float64 { return x }, 0, 1, Natural},
		{"geometric Brownian motion at ∞", func(x float64) float64 { return x }, func(x float64) float64 { return x }, inf, 1, Natural},
		{"CIR, 2am = 2σ², at 0", cir(1, 1), math.Sqrt, 0, 1, Entrance},
		{"CIR, 2am = σ², at 0", cir(1, 0.5), math.Sqrt, 0, 1, Entrance},
		{"CIR, 2am = 0.96σ², at 0", cir(1, 0.48), math.Sqrt, 0, 1, Regular},
		{"CIR, 2am = σ²/2, at 0", cir(1, 0.25), math.Sqrt, 0, 1, Regular},
		{"CIR at ∞", cir(1, 1), math.Sqrt, inf, 1, Natural},
		{"CIR, moved, at 2", func(x float64) float64 { return 0.25 - (x - 2) }, func(x float64) float64 { return math.Sqrt(x - 2) }, 2, 3, Regular},
		{"CIR, moved and repelled, at 2", func(x float64) float64 { return 1 - (x - 2) }, func(x float64) float64 { return math.Sqrt(x - 2) }, 2, 3, Entrance},
		{"branching at 0", func(x float64) float64 { return x }, math.Sqrt, 0, 1, Exit},
		{"Bessel in 3 dimensions at 0", bessel(3), constant(1), 0, 1, Entrance},
		{"Bessel in 2 dimensions at 0", bessel(2), constant(1), 0, 1, Entrance},
		{"Bessel in 1.5 dimensions at 0", bessel(1.5), constant(1), 0, 1, Regular},
		{"Bessel in −1 dimensions at 0", bessel(-1), constant(1), 0, 1, Exit},
		{"Jacobi at 0", jacobi(1, 1), wright, 0, 0.5, Entrance},
		{"Jacobi, weak, at 0", jacobi(0.2, 1), wright, 0, 0.5, Regular},
		{"Jacobi without mutation at 0", jacobi(0, 1), wright, 0, 0.5, Exit},
		{"Jacobi at 1", jacobi(1, 1), wright, 1, 0.5, Entrance},
		{"Jacobi, weak, at 1", jacobi(1, 0.2), wright, 1, 0.5, Regular},
		{"Jacobi without mutation at 1", jacobi(1, 0), wright, 1, 0.5, Exit},
		{"a wall 1/x at 0", func(x float64) float64 { return 1/x - x }, constant(1), 0, 1, Entrance},
	} {
		got, err := BoundaryAt(formula(c.b), formula(c.s), c.end, c.x)
		if err != nil || got != c.want {
			t.Errorf("%s: %s, %v: want %s", c.name, got, err, c.want)
		}
	}
	// σ vanishes on the way, or has no value there.
	for _, s := range []func(float64) float64{func(x float64) float64 { return max(x-0.9, 0) }, func(x float64) float64 { return math.Sqrt(x - 0.9) }, func(x float64) float64 { return x - 0.9 }} {
		if k, err := BoundaryAt(formula(constant(-1)), formula(s), 0, 1); !errors.Is(err, ErrUndecided) {
			t.Errorf("a boundary behind σ = 0: %s, %v", k, err)
		}
	}
}
