package density

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

func tabulate(lo, hi float64, n int, drift, diffusion func(x float64) float64) sde.Coefficients {
	g := sde.Grid{Lo: lo, Hi: hi, N: n}
	c := sde.Coefficients{Grid: g, Drift: make([]float32, n), Diffusion: make([]float32, n)}
	for i := range n {
		c.Drift[i], c.Diffusion[i] = float32(drift(g.At(i))), float32(diffusion(g.At(i)))
	}
	return c
}

func constant(v float64) func(float64) float64 { return func(float64) float64 { return v } }

func mustNew(t *testing.T, c sde.Coefficients) *Density {
	t.Helper()
	d, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// A linear drift is exact on a grid of representable nodes: the law of the
// Ornstein–Uhlenbeck process is the normal one to rounding, also when it is
// narrow against the cells.
func TestOrnsteinUhlenbeck(t *testing.T) {
	for _, c := range []struct {
		nodes        int
		theta, sigma float64 // variance σ²/2θ
	}{{65, 1, 1}, {17, 0.5, 1}, {5, 8, 0.5}, {65, 32, 0.125}} {
		d := mustNew(t, tabulate(-16, 16, c.nodes, func(x float64) float64 { return -c.theta * x }, constant(c.sigma)))
		std := c.sigma / math.Sqrt(2*c.theta)
		for z := -7.0; z <= 7; z += 0.37 {
			x := z * std
			pdf := math.Exp(-z*z/2) / (std * math.Sqrt(2*math.Pi))
			if got := d.PDF(x); !(math.Abs(got/pdf-1) <= 1e-10) {
				t.Errorf("%+v: density at %v is %v, want %v", c, x, got, pdf)
			}
			cdf := math.Erfc(-z/math.Sqrt2) / 2
			if got := d.CDF(x); !(math.Abs(got-cdf) <= 1e-12) {
				t.Errorf("%+v: distribution at %v is %v, want %v", c, x, got, cdf)
			}
		}
	}
}

// With clamped coefficients the tails are exponential: a constant force 1
// towards a grid of width 2ε has nearly the Laplace law ½λe^{−λ|x|}, λ = 2/σ².
func TestTails(t *testing.T) {
	const eps = 1e-6
	d := mustNew(t, tabulate(-eps, eps, 2, func(x float64) float64 { return -x / eps }, constant(2)))
	const rate = 0.5
	for _, x := range []float64{0.001, 0.5, 3, 20, 60} {
		want := math.Exp(-rate*x) / 2
		if got := d.CDF(-x); !(math.Abs(got/want-1) <= 1e-5) {
			t.Errorf("CDF(%v) = %v, want %v", -x, got, want)
		}
		if got := d.PDF(x); !(math.Abs(got/(rate*want)-1) <= 1e-5) {
			t.Errorf("PDF(%v) = %v, want %v", x, got, rate*want)
		}
		if got := d.Quantile(want); !(math.Abs(got+x) <= 1e-4) {
			t.Errorf("Quantile(%v) = %v, want %v", want, got, -x)
		}
		if got := d.Quantile(1 - d.CDF(-x)); x < 30 && !(math.Abs(got-x) <= 1e-4) {
			t.Errorf("upper quantile is %v, want %v", got, x)
		}
	}
}

// Rough coefficients: b and σ with kinks, σ varying 40-fold, metastable wells
// deep enough to underflow. The reference is a trapezoidal sum on a grid that
// is 20,000 times finer.
var rough = tabulate(-4, 4, 33,
	func(x float64) float64 { return -2*x + 6*math.Sin(7*x) },
	func(x float64) float64 { return 0.05 + 2*square(math.Sin(x)) })

func TestAgainstTrapezoidalRule(t *testing.T) {
	d := mustNew(t, rough)
	const fine = 20000
	cells := rough.Grid.N - 1
	n := cells * fine
	h := (rough.Grid.Hi - rough.Grid.Lo) / float64(n)
	rate := func(x float64) float64 { return 2 * rough.DriftAt(x) / square(rough.DiffusionAt(x)) }
	logs := make([]float64, n+1) // log p, unnormalised
	phi, top := 0.0, math.Inf(-1)
	for i := range logs {
		x := rough.Grid.Lo + float64(i)*h
		if i > 0 { // Simpson's rule
			phi += h / 6 * (rate(x-h) + 4*rate(x-h/2) + rate(x))
		}
		logs[i] = phi - 2*math.Log(rough.DiffusionAt(x))
		top = max(top, logs[i])
	}
	cdf := make([]float64, n+1)
	for i := 1; i <= n; i++ {
		cdf[i] = cdf[i-1] + h/2*(math.Exp(logs[i-1]-top)+math.Exp(logs[i]-top))
	}
	mass := cdf[n]
	for i := 0; i <= n; i += fine / 4 {
		x := rough.Grid.Lo + float64(i)*h
		if got, want := d.CDF(x), cdf[i]/mass; !(math.Abs(got-want) <= 1e-7) {
			t.Errorf("CDF(%v) = %v, want %v", x, got, want)
		}
		// Relative accuracy holds where the density is hundreds of orders of magnitude below the peak.
		if got, want := d.PDF(x), math.Exp(logs[i]-top)/mass; !(want <= 1e-300) && !(math.Abs(got-want) <= 1e-6*want) {
			t.Errorf("PDF(%v) = %v, want %v", x, got, want)
		}
	}
}

// The invariant law of an equation on the line carries no flux, b·p = ½(σ²p)′, inside
// the cells and in the tails: by central differences of log σ²p, whose derivative
// is φ′ = 2b/σ², with steps over which φ changes by a thousandth at most.
func TestZeroFlux(t *testing.T) {
	for name, c := range map[string]sde.Coefficients{
		"rough":       rough,
		"double well": tabulate(-4, 4, 64, func(x float64) float64 { return 9 * (x - x*x*x) }, constant(1)),
		"slope of σ":  tabulate(-3, 3, 7, func(x float64) float64 { return -x }, func(x float64) float64 { return 1.5 + 0.4*x }),
	} {
		d := mustNew(t, c)
		logSigma2P := func(x float64) float64 { return math.Log(square(c.DiffusionAt(x)) * d.PDF(x)) }
		cell := c.Grid.Step()
		for i := -3; i < c.Grid.N+2; i++ { // three cells beyond either end
			for _, part := range []float64{0.1, 0.5, 0.77} {
				x := c.Grid.Lo + (float64(i)+part)*cell
				if d.PDF(x) < 1e-250 {
					continue
				}
				want := 2 * c.DriftAt(x) / square(c.DiffusionAt(x))
				h := 1e-3 * min(cell, 1/math.Abs(want))
				if got := (logSigma2P(x+h) - logSigma2P(x-h)) / (2 * h); !(math.Abs(got-want) <= 1e-5*(1+math.Abs(want))) {
					t.Errorf("%s at %v: (log σ²p)′ = %v, 2b/σ² = %v", name, x, got, want)
				}
			}
		}
	}
}

// Without flux the law is reversible: for the generator Lf = bf′ + ½σ²f″,
// ∫g·Lf·p = ∫f·Lg·p = −½∫σ²f′g′p, and ∫Lf·p = 0. Jumps of the density at nodes or at
// the grid's ends, which leave the flux elsewhere alone, show here: the second
// equation has a quarter of its mass in the tails. The midpoint rule errs by less than
// 1e-6; the law of a drift that is 2 % larger fails.
func TestDetailedBalance(t *testing.T) {
	for name, c := range map[string]sde.Coefficients{
		"rough": rough,
		"tails": tabulate(-1, 1, 5, func(x float64) float64 { return 0.2 - x }, func(x float64) float64 { return 1 + 0.3*x }),
	} {
		other := sde.Coefficients{Grid: c.Grid, Diffusion: c.Diffusion}
		for _, b := range c.Drift {
			other.Drift = append(other.Drift, 1.02*b)
		}
		// Means of Lf, g·Lf, f·Lg, −½σ²f′g′ and 1 for f = x² and g = cos x.
		means := func(d *Density) (m [5]float64) {
			const lo, hi, n = -20.0, 20.0, 800_000
			for k := range n {
				x := lo + (hi-lo)*(float64(k)+0.5)/n
				w, b, a := d.PDF(x)*(hi-lo)/n, c.DriftAt(x), square(c.DiffusionAt(x))
				f, f1, f2 := x*x, 2*x, 2.0
				g, g1, g2 := math.Cos(x), -math.Sin(x), -math.Cos(x)
				lf, lg := b*f1+a*f2/2, b*g1+a*g2/2
				m[0], m[1], m[2], m[3] = m[0]+w*lf, m[1]+w*g*lf, m[2]+w*f*lg, m[3]-w*a*f1*g1/2
				m[4] += w
			}
			return m
		}
		if m := means(mustNew(t, c)); !(max(math.Abs(m[0]), math.Abs(m[1]-m[3]), math.Abs(m[2]-m[3]), math.Abs(m[4]-1)) <= 1e-6) {
			t.Errorf("%s: mass %.8f, E Lf = %.2g, E g·Lf = %.8f, E f·Lg = %.8f, −½E σ²f′g′ = %.8f", name, m[4], m[0], m[1], m[2], m[3])
		}
		if m := means(mustNew(t, other)); !(math.Abs(m[0]) >= 1e-3) {
			t.Errorf("%s: another law has E Lf = %.2g too", name, m[0])
		}
	}
}

// The law depends continuously on the coefficients: of a drift and a diffusion that
// differ by ε it is about ε away in W₂, so that a tenth of ε is a tenth of the way.
func TestLawIsContinuous(t *testing.T) {
	at := func(eps float64) *Density {
		return mustNew(t, tabulate(-4, 4, 257,
			func(x float64) float64 { return x - x*x*x + eps*math.Cos(x) },
			func(x float64) float64 { return 1 + eps*math.Sin(2*x) }))
	}
	exact := at(0)
	w2 := func(d *Density) (distance float64) {
		const n = 2000
		for k := range n {
			u := (float64(k) + 0.5) / n
			distance += square(d.Quantile(u)-exact.Quantile(u)) / n
		}
		return math.Sqrt(distance)
	}
	large, small := w2(at(1e-2)), w2(at(1e-3))
	if ratio := large / small; !(math.Abs(ratio-10) <= 1 && large <= 0.1) {
		t.Errorf("changes by 0.01 and 0.001 move the law by %.2g and %.2g", large, small)
	}
}

// laws are as hard to invert as they come.
var laws = map[string]sde.Coefficients{
	"rough":       rough,
	"double well": tabulate(-4, 4, 64, func(x float64) float64 { return 9 * (x - x*x*x) }, constant(1)),
	"narrow":      tabulate(-5, 5, 256, func(x float64) float64 { return -1000 * (x - 1.23) }, constant(0.1)),
	"Laplace":     tabulate(-1e-6, 1e-6, 2, func(x float64) float64 { return -1e6 * x }, constant(2)),
}

func TestQuantileInvertsCDF(t *testing.T) {
	for name, c := range laws {
		d := mustNew(t, c)
		last := math.Inf(-1)
		for k := 1; k < 2000; k++ {
			u := float64(k) / 2000
			x := d.Quantile(u)
			if !(x > last) {
				t.Fatalf("%s: quantiles are not increasing at %v: %v after %v", name, u, x, last)
			}
			last = x
			// x is exact to rounding, which the density magnifies.
			if got := d.CDF(x); !(math.Abs(got-u) <= 1e-12+d.PDF(x)*1e-14*(1+math.Abs(x))) {
				t.Fatalf("%s: CDF(Quantile(%v)) = %v", name, u, got)
			}
		}
		for _, edge := range []struct{ u, want float64 }{{0, math.Inf(-1)}, {1, math.Inf(1)}} {
			if got := d.Quantile(edge.u); got != edge.want {
				t.Errorf("%s: Quantile(%v) = %v", name, edge.u, got)
			}
		}
		for _, u := range []float64{-0.1, 1.1, math.NaN()} {
			if got := d.Quantile(u); !math.IsNaN(got) {
				t.Errorf("%s: Quantile(%v) = %v, want NaN", name, u, got)
			}
		}
	}
}

// The tabulated quantile function is increasing and inverts the distribution
// function to what its documentation says, in the tails to rounding.
func TestInverse(t *testing.T) {
	for name, c := range laws {
		d := mustNew(t, c)
		q := d.Inverse()
		last, worst := math.Inf(-1), 0.0
		for k := range 100_000 {
			u := (float64(k) + 0.5) / 100_000
			x := q.At(u)
			if !(x >= last) {
				t.Fatalf("%s: not increasing at %v: %v after %v", name, u, x, last)
			}
			last = x
			worst = max(worst, math.Abs(d.CDF(x)-u))
		}
		t.Logf("%s: %d knots, worst %.2g", name, len(q.knots), worst)
		if !(worst <= 1e-5) {
			t.Errorf("%s: CDF(At(u)) is off by %.2g", name, worst)
		}
		for _, u := range []float64{1e-300, 1e-17, 1e-9, 1 - 1e-9, 1 - 1.0/(1<<53)} {
			if got := d.CDF(q.At(u)); !(math.Abs(got-u) <= 1e-12+1e-5*min(u, 1-u)) {
				t.Errorf("%s: CDF(At(%v)) = %v", name, u, got)
			}
		}
	}
}

// 20,000 draws pass Kolmogorov and Smirnov's test, and the same draws fail it
// against the law of a diffusion that is 20 % larger.
func TestSample(t *testing.T) {
	well := func(sigma float64) *Density {
		return mustNew(t, tabulate(-4, 4, 64, func(x float64) float64 { return x - x*x*x }, constant(sigma)))
	}
	d := well(1)
	samples := make([]float32, 20000)
	d.Sample(samples, rand.New(rand.NewPCG(1, 2)))
	slices.Sort(samples)
	distance := func(d *Density) float64 {
		var worst float64
		n := float64(len(samples))
		for i, x := range samples {
			u := d.CDF(float64(x))
			worst = max(worst, u-float64(i)/n, float64(i+1)/n-u)
		}
		return worst * math.Sqrt(n)
	}
	if k := distance(d); !(k <= 1.95) {
		t.Errorf("√n·KS = %.2f, above 1.95 with probability 0.001", k)
	}
	if k := distance(well(1.2)); !(k >= 1.95) {
		t.Errorf("√n·KS = %.2f from another law", k)
	}
}

func TestRefusals(t *testing.T) {
	nan := tabulate(-1, 1, 3, func(x float64) float64 { return -x }, constant(1))
	nan.Drift[1] = float32(math.NaN())
	for _, c := range []struct {
		name     string
		c        sde.Coefficients
		sentinel error
		want     string
	}{
		{"Brownian motion", tabulate(-1, 1, 3, constant(0), constant(1)), ErrNotNormalisable, "the drift is 0 at the left end x = -1, must be positive"},
		{"drift to the right", tabulate(-1, 1, 3, constant(1), constant(1)), ErrNotNormalisable, "the drift is 1 at the right end x = 1, must be negative"},
		{"repelling", tabulate(-1, 1, 3, func(x float64) float64 { return x }, constant(1)), ErrNotNormalisable, "left end"},
		{"NaN", nan, sde.ErrNotFinite, "drift NaN at x = 0"},
		{"no noise", tabulate(-1, 1, 3, func(x float64) float64 { return -x }, constant(0)), nil, "diffusion 0 at x = -1 is not positive"},
		{"too steep", tabulate(-1, 1, 3, func(x float64) float64 { return -x * 1e9 }, constant(0.01)), nil, "too steep to integrate between x = -1 and 0"},
		{"tiny noise", tabulate(-1, 1, 4, func(x float64) float64 { return -x }, constant(1e-30)), nil, "too steep"},
	} {
		_, err := New(c.c)
		if err == nil || !strings.Contains(err.Error(), c.want) || c.sentinel != nil && !errors.Is(err, c.sentinel) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}

func BenchmarkQuantile(b *testing.B) {
	d, err := New(rough)
	if err != nil {
		b.Fatal(err)
	}
	for i := range b.N {
		d.Quantile((float64(i%997) + 0.5) / 997)
	}
}

func BenchmarkInverse(b *testing.B) {
	d, err := New(rough)
	if err != nil {
		b.Fatal(err)
	}
	b.Run("table", func(b *testing.B) {
		for b.Loop() {
			d.Inverse()
		}
	})
	q, rng := d.Inverse(), rand.New(rand.NewPCG(1, 2))
	dst := make([]float32, 512)
	b.Run("512 draws", func(b *testing.B) {
		for b.Loop() {
			q.Sample(dst, rng)
		}
	})
}
