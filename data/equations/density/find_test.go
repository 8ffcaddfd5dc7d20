package density

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

var whole = [2]float64{math.Inf(-1), math.Inf(1)}

// found is a law in closed form. Moments that do not exist are NaN.
type found struct {
	name                               string
	b, sigma                           func(x float64) float64
	domain                             [2]float64
	mean, variance, skewness, kurtosis float64
	cdf                                func(x float64) float64
	left, right                        float64 // Decay of a power, or −Exponent; 0 at a finite end
}

func normalCDF(mean, deviation float64) func(x float64) float64 {
	return func(x float64) float64 { return math.Erfc(-(x-mean)/deviation/math.Sqrt2) / 2 }
}

func gammaCDF(shape, rate float64) func(x float64) float64 {
	return func(x float64) float64 { return mathext.GammaIncReg(shape, rate*max(x, 0)) }
}

// studentCDF is that of p ∝ (1+x²)^−a for a = 1, 2 and 3.
var studentCDF = map[float64]func(x float64) float64{
	1: func(x float64) float64 { return 0.5 + math.Atan(x)/math.Pi },
	2: func(x float64) float64 { return 0.5 + (math.Atan(x)+x/(1+x*x))/math.Pi },
	3: func(x float64) float64 {
		return 0.5 + (math.Atan(x)+x/(1+x*x)+2./3*x/square(1+x*x))/math.Pi
	},
}

func closedForms() []found {
	nan, half := math.NaN(), [2]float64{0, math.Inf(1)}
	ou := func(mean, rate, sigma float64) found {
		v := sigma * sigma / (2 * rate)
		return found{"", func(x float64) float64 { return -rate * (x - mean) }, constant(sigma), whole, mean, v, 0, 3, normalCDF(mean, math.Sqrt(v)), -2, -2}
	}
	named := func(name string, f found) found { f.name = name; return f }
	student := func(name string, a, mean, variance, skewness, kurtosis float64) found {
		return found{name, func(x float64) float64 { return -a * x / (1 + x*x) }, constant(1), whole, mean, variance, skewness, kurtosis, studentCDF[a], 2 * a, 2 * a}
	}
	cir := func(name string, shape, from float64) found { // Gamma of rate 2, moved
		law := gammaCDF(shape, 2)
		return found{name, func(x float64) float64 { return shape/2 - (x - from) }, func(x float64) float64 { return math.Sqrt(x - from) },
			[2]float64{from, math.Inf(1)}, from + shape/2, shape / 4, 2 / math.Sqrt(shape), 3 + 6/shape, func(x float64) float64 { return law(x - from) }, 0, -1}
	}
	return []found{
		named("Ornstein–Uhlenbeck", ou(0, 1, 1)),
		named("far", ou(1e5, 1, 1)),
		named("large", ou(1e5, 1, 1e5)),
		named("small", ou(1e-5, 1, 1e-7)),
		named("narrow", ou(0.1234567, 1e4, 0.01)),
		student("Cauchy", 1, nan, nan, nan, nan),
		student("Student of 3 degrees", 2, 0, 1, nan, nan),
		student("Student of 5 degrees", 3, 0, 1./3, 0, 9),
		{"Laplace", func(x float64) float64 { return -math.Copysign(1, x) }, constant(1), whole, 0, 0.5, 0, 6, func(x float64) float64 {
			if x < 0 {
				return math.Exp(2*x) / 2
			}
			return 1 - math.Exp(-2*x)/2
		}, -1, -1},
		cir("Gamma, entrance", 3, 0), cir("Gamma, regular", 0.5, 0), cir("Gamma, moved", 0.5, 2), cir("Gamma, far", 2, 1e4),
		{"half-line without a domain", func(x float64) float64 { return 1.5 - x }, math.Sqrt, whole, 1.5, 0.75, 2 / math.Sqrt(3), 5, gammaCDF(3, 2), 0, -1},
		{"inverse Gamma", func(x float64) float64 { return 1 - x }, func(x float64) float64 { return x }, half, 1, 1, nan, nan,
			func(x float64) float64 { return mathext.GammaIncRegComp(3, 2/max(x, 0)) }, 0, 4},
		{"Beta", func(x float64) float64 { return 1 - 2*x }, func(x float64) float64 { return math.Sqrt(x * (1 - x)) }, [2]float64{0, 1}, 0.5, 0.05, 0, 15. / 7,
			func(x float64) float64 { return mathext.RegIncBeta(2, 2, min(max(x, 0), 1)) }, 0, 0},
		{"arcsine", func(x float64) float64 { return 0.25 - 0.5*x }, func(x float64) float64 { return math.Sqrt(x * (1 - x)) }, [2]float64{0, 1}, 0.5, 0.125, 0, 1.5,
			func(x float64) float64 { return 2 / math.Pi * math.Asin(math.Sqrt(min(max(x, 0), 1))) }, 0, 0},
		{"σ grows", func(x float64) float64 { return -x }, func(x float64) float64 { return math.Sqrt(1 + x*x/2) }, whole, 0, 2. / 3, 0, 9,
			func(x float64) float64 { return studentCDF[3](x / math.Sqrt2) }, 6, 6},
	}
}

// Moments, quantiles, densities, tails and draws of laws in closed form, found from the
// formulas alone.
func TestFind(t *testing.T) {
	for _, c := range closedForms() {
		l, apart, err := Find(formula(c.b), formula(c.sigma), c.domain[0], c.domain[1])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if !(apart <= 1e-8) {
			t.Errorf("%s: two integrations differ by %.2g", c.name, apart)
		}
		scale := l.Quantile(0.75) - l.Quantile(0.25)
		for _, v := range []struct {
			name             string
			got, want, scale float64
		}{
			{"mean", l.Mean(), c.mean, scale}, {"variance", l.Variance(), c.variance, scale * scale},
			{"skewness", l.Skewness(), c.skewness, 1}, {"kurtosis", l.Kurtosis(), c.kurtosis, 1},
		} {
			if !(math.Abs(v.got-v.want) <= 1e-8*v.scale || math.IsNaN(v.got) && math.IsNaN(v.want)) {
				t.Errorf("%s: %s %.12g, want %.12g", c.name, v.name, v.got, v.want)
			}
		}
		for _, u := range []float64{1e-4, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.9999} {
			x := l.Quantile(u)
			if got := c.cdf(x); !(math.Abs(got-u) <= 1e-9) {
				t.Errorf("%s: the law is %.12g at the quantile of %g, %.12g", c.name, got, u, x)
			}
			if got := l.CDF(x); !(math.Abs(got-u) <= 1e-10) {
				t.Errorf("%s: CDF(Quantile(%g)) = %.12g", c.name, u, got)
			}
			h := 1e-4 * scale * min(u, 1-u)
			if u < 0.01 || u > 0.99 { // the difference has too few digits
				continue
			}
			if got, want := l.PDF(x), (c.cdf(x+h)-c.cdf(x-h))/(2*h); !(math.Abs(got-want) <= 1e-4*want) {
				t.Errorf("%s: density %.9g at %.9g, want %.9g", c.name, got, x, want)
			}
		}
		for _, end := range []struct {
			End
			want float64
		}{{l.Left, c.left}, {l.Right, c.right}} {
			switch {
			case end.want == 0 && math.IsInf(end.At, 0), end.want > 0 && (end.Exponent != 0 || math.Abs(end.Decay-end.want) > 1e-6),
				end.want < 0 && math.Abs(end.Exponent+end.want) > 1e-5:
				t.Errorf("%s: end %+v, want %g", c.name, end.End, end.want)
			}
		}
		draws := make([]float64, 20_000)
		l.Sample(draws, rand.New(rand.NewPCG(1, 2)))
		slices.Sort(draws)
		var most float64
		for i, x := range draws {
			most = max(most, math.Abs(c.cdf(x)-(float64(i)+0.5)/float64(len(draws))))
		}
		if !(most <= 1.95/math.Sqrt(float64(len(draws)))) {
			t.Errorf("%s: the draws' distribution function differs by %.2g", c.name, most)
		}
	}
}

// Wells with a barrier, near and far, by quadrature of p = σ⁻² exp(−2U/σ²) at equal steps, and
// a hundred wells, whose moments are those of the normal law around them.
func TestFindWells(t *testing.T) {
	for _, c := range []struct {
		name      string
		potential func(x float64) float64
		b         func(x float64) float64
		sigma     float64
		lo, hi    float64
	}{
		{"double well", func(x float64) float64 { return x*x*x*x/4 - x*x/2 }, func(x float64) float64 { return x - x*x*x }, 0.7, -4, 4},
		{"cold", func(x float64) float64 { return x*x*x*x/4 - x*x/2 }, func(x float64) float64 { return x - x*x*x }, 0.05, -2, 2},
		{"tilted", func(x float64) float64 { return x*x*x*x/4 - x*x/2 - 0.01*x }, func(x float64) float64 { return x - x*x*x + 0.01 }, 0.1, -2, 2},
		{"wells of other widths", func(x float64) float64 { return x*x*x*x/4 + 5*x*x*x - 150*x*x },
			func(x float64) float64 { return -x * (x*x + 15*x - 300) }, 400, -90, 70},
		{"narrow, far apart", func(x float64) float64 { return 1e-6 * (x*x*x*x/4 - 5e7*x*x) },
			func(x float64) float64 { return -1e-6 * x * (x*x - 1e8) }, 1, -1.01e4, 1.01e4},
		{"three wells", func(x float64) float64 { return x*x*x*x*x*x/6 - 5*x*x*x*x/4 + 2*x*x },
			func(x float64) float64 { return -x * (x*x - 1) * (x*x - 4) }, 0.6, -4, 4},
	} {
		l, _, err := Find(formula(c.b), formula(constant(c.sigma)), whole[0], whole[1])
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		const n = 2_000_000
		least := math.Inf(1)
		at := func(i int) float64 { return c.lo + (c.hi-c.lo)*(float64(i)+0.5)/n }
		for i := range n {
			least = min(least, c.potential(at(i)))
		}
		var mass, first, second float64
		for i := range n {
			p := math.Exp(-2 * (c.potential(at(i)) - least) / square(c.sigma))
			mass, first, second = mass+p, first+p*at(i), second+p*at(i)*at(i)
		}
		mean := first / mass
		variance := second/mass - mean*mean
		if d := math.Sqrt(variance); !(math.Abs(l.Mean()-mean) <= 1e-5*d && math.Abs(l.Variance()-variance) <= 1e-6*variance) {
			t.Errorf("%s: mean %.10g, variance %.10g, want %.10g and %.10g", c.name, l.Mean(), l.Variance(), mean, variance)
		}
	}
}

// Equations without a law on the line, or with one on each part of it.
func TestFindRefuses(t *testing.T) {
	one, inf := constant(1), math.Inf(1)
	for _, c := range []struct {
		name     string
		b, sigma func(x float64) float64
		domain   [2]float64
		want     error
	}{
		{"no drift", constant(0), one, whole, ErrNotNormalisable},
		{"outward", func(x float64) float64 { return x }, one, whole, ErrNotNormalisable},
		{"one way", one, one, whole, ErrNotNormalisable},
		{"turns outward", func(x float64) float64 { return -x + x*x*x/1e4 }, one, whole, ErrNotNormalisable},
		{"too heavy", func(x float64) float64 { return -0.5 * x / (1 + x*x) }, one, whole, ErrNotNormalisable},
		{"absorbed", func(x float64) float64 { return -x }, math.Sqrt, [2]float64{0, inf}, ErrNotNormalisable},
		{"σ vanishes", func(x float64) float64 { return 1 - x }, func(x float64) float64 { return x }, whole, ErrParts},
		{"σ vanishes between points", func(x float64) float64 { return 1 - x }, func(x float64) float64 { return x - 0.1234 }, whole, ErrParts},
		{"pole", func(x float64) float64 { return 1/x - x }, one, whole, ErrParts},
		{"no noise", func(x float64) float64 { return -x }, constant(0), whole, ErrNoValue},
	} {
		_, _, err := Find(formula(c.b), formula(c.sigma), c.domain[0], c.domain[1])
		if !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", c.name, err, c.want)
		}
		if parts := new(PartsError); errors.As(err, &parts) && c.name == "σ vanishes between points" && math.Abs(parts.At-0.1234) > 1e-9 {
			t.Errorf("%s: at %v", c.name, parts.At)
		}
	}
}

// The law of c·X is that of X, scaled, however fine the waves of σ are beside 1.
func TestFindScales(t *testing.T) {
	law := func(c float64) *Line {
		l, _, err := Find(
			formula(func(x float64) float64 { x /= c; return c * (-x*(x-1)*(x+2) + 2*math.Sin(4*x)) }),
			formula(func(x float64) float64 { return 0.3 * c * (1 + 0.5*math.Sin(x/c)) }), whole[0], whole[1])
		if err != nil {
			t.Fatalf("scale %g: %v", c, err)
		}
		return l
	}
	want := law(1)
	for _, c := range []float64{1e-6, 0.02, 30, 1e5} {
		l := law(c)
		if d := math.Abs(l.Mean()/c - want.Mean()); !(d <= 1e-8) {
			t.Errorf("scale %g: mean %.12g, want %.12g", c, l.Mean()/c, want.Mean())
		}
		if d := math.Abs(l.Variance()/c/c - want.Variance()); !(d <= 1e-8) {
			t.Errorf("scale %g: variance %.12g, want %.12g", c, l.Variance()/c/c, want.Variance())
		}
	}
}
