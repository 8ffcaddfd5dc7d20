package density

import (
	"errors"
	"math"
	"slices"
	"testing"
)

func formula(f func(x float64) float64) Coefficient {
	return func(dst, x []float64) {
		for i, v := range x {
			dst[i] = f(v)
		}
	}
}

// Laws in closed form: normal, Cauchy and Student, Laplace, Gamma on a half-line, a double
// well, a law that has left the interval.
func TestLine(t *testing.T) {
	nan, one := math.NaN(), constant(1)
	phi := func(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }
	for _, c := range []struct {
		name           string
		b, sigma       func(x float64) float64
		lo, hi         float64
		mean, variance float64
		below, above   float64
	}{
		{"normal", func(x float64) float64 { return -x }, one, -4, 4, 0, 0.5, phi(-4 * math.Sqrt2), phi(-4 * math.Sqrt2)},
		{"wide normal", func(x float64) float64 { return -0.05 * x }, constant(1.5), -5, 5, 0, 22.5, phi(-5 / math.Sqrt(22.5)), phi(-5 / math.Sqrt(22.5))},
		{"at the edge", func(x float64) float64 { return -(x - 4.9) }, constant(0.3), -5, 5, 4.9, 0.045, 0, phi(-0.1 / math.Sqrt(0.045))},
		{"outside", func(x float64) float64 { return -(x - 400) }, constant(0.3), -5, 5, 400, 0.045, 0, 1},
		{"narrow", func(x float64) float64 { return -1e4 * (x - 0.1234567) }, constant(0.01), -5, 5, 0.1234567, 5e-9, 0, 0},
		{"units", func(x float64) float64 { return -(x - 5e6) }, constant(1e5), 4e6, 6e6, 5e6, 5e9, phi(-1e6 / math.Sqrt(5e9)), phi(-1e6 / math.Sqrt(5e9))},
		{"Cauchy", func(x float64) float64 { return -x / (1 + x*x) }, one, -5, 5, nan, nan, 0.5 - math.Atan(5)/math.Pi, 0.5 - math.Atan(5)/math.Pi},
		// p ∝ (1+x²)⁻ᵃ of b = −ax/(1+x²) has k = 2a, and for 2a > 3 the variance 1/(2a−3).
		{"no variance", func(x float64) float64 { return -1.4 * x / (1 + x*x) }, one, -5, 5, 0, nan, -1, -1},
		{"Student", func(x float64) float64 { return -2.5 * x / (1 + x*x) }, one, -5, 5, 0, 0.5, -1, -1},
		{"Laplace", func(x float64) float64 { return -math.Copysign(1, x) }, one, -4, 4, 0, 0.5, math.Exp(-8) / 2, math.Exp(-8) / 2},
		// σ² = x, b = 1.5 − x: Gamma of shape 3 and rate 2.
		{"Gamma", func(x float64) float64 { return 1.5 - x }, math.Sqrt, 0.1, 8, 1.5, 0.75, -1, -1},
		{"σ ends", func(x float64) float64 { return -x }, func(x float64) float64 { return 7 - x }, -5, 5, 0, 49, -1, -1},
		{"overflow", func(x float64) float64 { return -math.Sinh(x) }, one, -4, 4, 0, -1, -1, -1},
		{"double well", func(x float64) float64 { return 40 * (x - x*x*x) }, one, -4, 4, 0, -1, 0, 0},
	} {
		l, err := NewLine(formula(c.b), formula(c.sigma), c.lo, c.hi)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for _, v := range []struct {
			name      string
			got, want float64
			scale     float64
		}{
			{"mean", l.Mean(), c.mean, math.Sqrt(math.Abs(c.variance))}, {"variance", l.Variance(), c.variance, math.Abs(c.variance)},
			{"mass below", l.CDF(c.lo), c.below, 1}, {"mass above", 1 - l.CDF(c.hi), c.above, 1},
		} {
			if v.want == -1 {
				continue
			}
			if !(math.Abs(v.got-v.want) <= 1e-7*max(v.scale, 1e-3) || math.IsNaN(v.want) && math.IsNaN(v.got)) && !(math.IsNaN(v.scale) && math.Abs(v.got-v.want) <= 1e-6) {
				t.Errorf("%s: %s %.12g, want %.12g", c.name, v.name, v.got, v.want)
			}
		}
	}
}

// The two quadratures agree on tables, whose kinks are not at the panels' edges, and on
// their exponential tails.
func TestLineOfTables(t *testing.T) {
	for name, c := range laws {
		want := mustNew(t, c)
		l, err := NewLine(formula(c.DriftAt), formula(c.DiffusionAt), c.Grid.Lo, c.Grid.Hi)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		mean, variance := want.Moments()
		worst := max(math.Abs(l.Mean()-mean)/math.Sqrt(variance), math.Abs(l.Variance()-variance)/variance)
		knots, cdf, _ := l.Knots(0)
		for i, x := range knots {
			worst = max(worst, math.Abs(cdf[i]-want.CDF(x)))
		}
		if !(worst <= 1e-6) {
			t.Errorf("%s: the laws differ by %.2g", name, worst)
		}
	}
}

// The knots of a law have its distribution function and its density to eight digits,
// whether panels have been halved (a narrow law) or not, and where a drift has a kink.
func TestKnots(t *testing.T) {
	for name, c := range map[string]struct {
		b        func(x float64) float64
		cdf, pdf func(x float64) float64
	}{
		"normal": {func(x float64) float64 { return -2 * (x - 1) }, normalCDF(1, 0.5), func(x float64) float64 { return math.Exp(-2*square(x-1)) / math.Sqrt(math.Pi/2) }},
		"narrow": {func(x float64) float64 { return -5e5 * (x - 1) }, normalCDF(1, 1e-3), func(x float64) float64 { return math.Exp(-5e5*square(x-1)) / math.Sqrt(math.Pi/5e5) }},
		"Laplace": {func(x float64) float64 { return -math.Copysign(1, x) }, func(x float64) float64 {
			return 0.5 + math.Copysign(math.Expm1(-2*math.Abs(x)), x)/2
		}, func(x float64) float64 { return math.Exp(-2 * math.Abs(x)) }},
	} {
		l, err := NewLine(formula(c.b), formula(constant(1)), -10, 9)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, cdf, pdf := l.Knots(1e-12)
		if n := len(x); n < 2 || !(cdf[0] < 1e-10 && cdf[n-1] > 1-1e-10) || !slices.IsSorted(x) {
			t.Errorf("%s: %d knots from %g to %g", name, n, cdf[0], cdf[n-1])
		}
		for i, v := range x {
			if d := math.Abs(cdf[i] - c.cdf(v)); !(d <= 1e-8) {
				t.Errorf("%s: the distribution function is %.12g at %.9g, off by %.2g", name, cdf[i], v, d)
			}
			if want := c.pdf(v); !(math.Abs(pdf[i]-want) <= 1e-7*want+1e-12) {
				t.Errorf("%s: the density is %.12g at %.9g, want %.12g", name, pdf[i], v, want)
			}
		}
	}
}

// Equations without an invariant law on the line, and ones that cannot be integrated.
func TestLineRefuses(t *testing.T) {
	one := constant(1)
	for _, c := range []struct {
		name     string
		b, sigma func(x float64) float64
		want     error
	}{
		{"no drift", constant(0), one, ErrNotNormalisable},
		{"outward", func(x float64) float64 { return x }, one, ErrNotNormalisable},
		{"one way", one, one, ErrNotNormalisable},
		{"turns outward", func(x float64) float64 { return -x + x*x*x/1e4 }, one, ErrNotNormalisable},
		{"too heavy", func(x float64) float64 { return -0.5 * x / (1 + x*x) }, one, ErrNotNormalisable},
		// p ∝ exp(−x²) is normalisable, but σ drives X to infinity: s′ = exp(−x²/2)… converges.
		{"transient", func(x float64) float64 { return x * math.Exp(2*x*x) }, func(x float64) float64 { return math.Exp(x * x) }, ErrNotNormalisable},
		{"mass at an end", func(x float64) float64 { return -1 + 0*x }, func(x float64) float64 { return math.Sqrt(x + 6) }, ErrNotNormalisable},
		{"pole", func(x float64) float64 { return 1/(x-0.03) - x }, one, ErrTooSteep},
		{"no value", math.Log, one, ErrNoValue},
		{"no noise", func(x float64) float64 { return -x }, constant(0), ErrNoValue},
	} {
		_, err := NewLine(formula(c.b), formula(c.sigma), -5, 5)
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
	}
}
