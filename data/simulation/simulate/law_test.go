package simulate

import (
	"context"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ksScaled is √n times the Kolmogorov–Smirnov distance of independent samples
// from a law: above 1.95 with probability 0.001.
func ksScaled(samples []float32, cdf func(float64) float64) float64 {
	sorted := slices.Sorted(slices.Values(samples))
	n := float64(len(sorted))
	var d float64
	for i, x := range sorted {
		u := cdf(float64(x))
		d = max(d, u-float64(i)/n, float64(i+1)/n-u)
	}
	return d * math.Sqrt(n)
}

const ksCritical = 1.95

// equation is an SDE whose invariant law is known in closed form.
type equation struct {
	name             string
	drift, diffusion func(x float64) float64
	grid             sde.Grid
	cdf              func(x float64) float64
	burnIn           int // relaxation, with dt = 0.01
}

// grids are wide and fine enough that neither clamping nor interpolation shows
// in the law.
func equations() []equation {
	normal := distuv.Normal{Mu: 3, Sigma: 1}
	// b = −x, σ² = 1 + x²/2: p ∝ (1 + x²/2)⁻³, Student's t with 5 degrees of
	// freedom and scale √(2/5).
	student := distuv.StudentsT{Mu: 0, Sigma: math.Sqrt(2. / 5), Nu: 5}
	return []equation{
		{
			name:  "Ornstein–Uhlenbeck around 3",
			drift: func(x float64) float64 { return 3 - x }, diffusion: func(float64) float64 { return math.Sqrt2 },
			grid: sde.Grid{Lo: -7, Hi: 13, N: 64}, cdf: normal.CDF, burnIn: 1000,
		},
		{
			name:  "double well",
			drift: func(x float64) float64 { return x - x*x*x }, diffusion: func(float64) float64 { return 1 },
			grid: sde.Grid{Lo: -5, Hi: 5, N: 1024}, cdf: quarticCDF(), burnIn: 2000,
		},
		{
			name:  "multiplicative noise",
			drift: func(x float64) float64 { return -x }, diffusion: func(x float64) float64 { return math.Sqrt(1 + x*x/2) },
			grid: sde.Grid{Lo: -40, Hi: 40, N: 8192}, cdf: student.CDF, burnIn: 1000,
		},
	}
}

// quarticCDF integrates exp(x² − x⁴/2) by the trapezoidal rule, which is
// spectrally accurate here.
func quarticCDF() func(float64) float64 {
	const lo, hi, n = -6., 6., 6000
	cumulated := make([]float64, n+1)
	var total float64
	for i := range cumulated {
		x := lo + (hi-lo)*float64(i)/n
		total += math.Exp(x*x - x*x*x*x/2)
		cumulated[i] = total - math.Exp(x*x-x*x*x*x/2)/2
	}
	return func(x float64) float64 {
		u := min(max((x-lo)/(hi-lo)*n, 0), n-1e-9)
		i := int(u)
		return (cumulated[i] + (cumulated[i+1]-cumulated[i])*(u-float64(i))) / total
	}
}

// vectorised is an equation without vectors.
func vectorised(drift, diffusion func(float64) float64) Equation {
	return func(_ string, x *[lanes]float64) (func(n int), *[lanes]float64, *[lanes]float64) {
		var b, sigma [lanes]float64
		return func(n int) {
			for i, v := range x[:n] {
				b[i], sigma[i] = drift(v), diffusion(v)
			}
		}, &b, &sigma
	}
}

// methods are the two ways to simulate an equation.
var methods = []struct {
	name   string
	sample func(dst []float32, e equation, s Scheme, seed uint64) error
}{
	{"table", func(dst []float32, e equation, s Scheme, seed uint64) error {
		return Chains(context.Background(), dst, tabulate(e.grid, e.drift, e.diffusion), s, seed, 0, "test")
	}},
	{"function", func(dst []float32, e equation, s Scheme, seed uint64) error {
		x := make([]float64, len(dst))
		err := Fastest().EulerMaruyamaFunc(context.Background(), x, vectorised(e.drift, e.diffusion), sde.WholeLine, s, seed, 0, "test", nil)
		for i, v := range x {
			dst[i] = float32(v)
		}
		return err
	}},
}

// One sample from each of many chains is an independent sample of the law.
func TestInvariantLaw(t *testing.T) {
	for _, e := range equations() {
		for _, m := range methods {
			dst := make([]float32, 8192)
			if err := m.sample(dst, e, Scheme{DT: 0.01, BurnIn: e.burnIn, Thin: 1, Chains: len(dst)}, 1); err != nil {
				t.Fatalf("%s, %s: %v", e.name, m.name, err)
			}
			if d := ksScaled(dst, e.cdf); !(d <= ksCritical) {
				t.Errorf("%s, %s: √n·KS is %.3g from the exact law, want below %v", e.name, m.name, d, ksCritical)
			}
		}
	}
}

// The closed forms above are also what the density package integrates.
func TestClosedFormsAgreeWithQuadrature(t *testing.T) {
	for _, e := range equations() {
		law, err := density.New(tabulate(e.grid, e.drift, e.diffusion))
		if err != nil {
			t.Fatalf("%s: %v", e.name, err)
		}
		for u := 0.01; u < 1; u += 0.01 {
			if got := e.cdf(law.Quantile(u)); !(math.Abs(got-u) <= 2e-4) {
				t.Errorf("%s: quadrature and closed form differ at %.2f by %.2g", e.name, u, got-u)
			}
		}
	}
}

// Without burn-in the start N(0, 1) shows: a simulator that skips it fails.
func TestBurnInIsNeeded(t *testing.T) {
	e := equations()[0]
	for _, m := range methods {
		for _, burnIn := range []int{0, 100} {
			dst := make([]float32, 8192)
			if err := m.sample(dst, e, Scheme{DT: 0.01, BurnIn: burnIn, Thin: 1, Chains: len(dst)}, 1); err != nil {
				t.Fatal(err)
			}
			if d := ksScaled(dst, e.cdf); !(d >= 5*ksCritical) {
				t.Errorf("%s: %d steps of burn-in pass with √n·KS %.3g", m.name, burnIn, d)
			}
			// What the law is then is known too: mean 3(1−aⁿ), a = 1−Δt.
			a := math.Pow(0.99, float64(burnIn))
			law := distuv.Normal{Mu: 3 * (1 - a), Sigma: math.Sqrt(a*a + (1-a*a)/(1-0.005))}
			if d := ksScaled(dst, law.CDF); !(d <= ksCritical) {
				t.Errorf("%s: √n·KS is %.3g from the law after %d steps", m.name, d, burnIn)
			}
		}
	}
}

// Samples of one chain, Thin steps apart, have the autocorrelation (1−Δt)^Thin.
func TestThinning(t *testing.T) {
	e := equations()[0]
	for _, m := range methods {
		const chains, perChain, thin = 128, 256, 20
		dst := make([]float32, chains*perChain)
		if err := m.sample(dst, e, Scheme{DT: 0.05, BurnIn: 200, Thin: thin, Chains: chains}, 1); err != nil {
			t.Fatal(err)
		}
		var square, product float64
		for c := range chains {
			for j := range perChain - 1 {
				a, b := float64(dst[c*perChain+j])-3, float64(dst[c*perChain+j+1])-3
				square += a * a
				product += a * b
			}
		}
		if got, want := product/square, math.Pow(0.95, thin); !(math.Abs(got-want) <= 0.025) {
			t.Errorf("%s: autocorrelation of neighbouring samples is %.3f, want %.3f", m.name, got, want)
		}
	}
}

// The same number of samples of more chains is a better set. Of chains with the
// autocorrelation a = 1−Δt and the variance 1/(1−Δt/2), N samples, of C chains and K =
// N/C of each, have a mean of variance
//
//	(variance/N)·(1 + 2Σ_{k<K} (1 − k/K)·a^{k·Thin})
//
// about the law's, and the distance W₂ between two sets, the floor of an
// evaluation, falls with C. Over 400 sets the variance has a standard error of 7 %.
func TestMoreChainsAreBetter(t *testing.T) {
	const n, sets, dt = 64, 400, 0.1
	e := equations()[0]
	for _, m := range methods {
		var floors []float64
		for _, chains := range []int{1, 4, 16, 64} {
			s := Scheme{DT: dt, BurnIn: 150, Thin: 1, Chains: chains}
			square, floor := 0.0, 0.0
			var last []float32
			for set := range sets {
				dst := make([]float32, n)
				if err := m.sample(dst, e, s, uint64(set)); err != nil {
					t.Fatal(err)
				}
				mean := 0.0
				for _, x := range dst {
					mean += (float64(x) - 3) / n
				}
				square += mean * mean / sets
				slices.Sort(dst)
				if set%2 == 1 {
					distance := 0.0
					for i, x := range dst {
						distance += float64(x-last[i]) * float64(x-last[i]) / n
					}
					floor += math.Sqrt(distance) / (sets / 2)
				}
				last = dst
			}
			each, factor := n/chains, 1.0
			for k := 1; k < each; k++ {
				factor += 2 * (1 - float64(k)/float64(each)) * math.Pow(1-dt, float64(k))
			}
			if want := factor / n / (1 - dt/2); !(math.Abs(square/want-1) <= 4*math.Sqrt(2./sets)) {
				t.Errorf("%s, %d chains: the mean has variance %.4f, want %.4f", m.name, chains, square, want)
			}
			floors = append(floors, floor)
		}
		for i, f := range floors[1:] {
			if !(f < floors[i]) {
				t.Errorf("%s: the floors of 1, 4, 16 and 64 chains are %.3f", m.name, floors)
			}
		}
	}
}
