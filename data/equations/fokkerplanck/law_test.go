package fokkerplanck

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// solve finds the law of formulas, around the corners of a box.
func solve(t *testing.T, drift, diffusion []string, domain sde.Domain, around ...float32) (*Law, error) {
	t.Helper()
	system, err := expression.CompileSystem(2, drift, diffusion, nil)
	if err != nil {
		t.Fatal(err)
	}
	side := sde.Interval{Lo: -3, Hi: 3}
	s, err := system.Space([]sde.Interval{side, side}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Domain = domain
	return Solve(s, around)
}

// marginal is the distribution function of a coordinate at the corners, which are states.
func (l *Law) marginal(c int) (at, below []float64) {
	w := l.n + 1
	for k := range w {
		z := l.axes[c].lo + float64(k)*l.side(c)
		if !l.axes[c].circle { // whose end is its beginning
			z = lift.Down(l.domain.At(c), z)
		}
		at = append(at, z)
		below = append(below, l.below[[]int{k*w + l.n, l.n*w + k}[c]])
	}
	return at, below
}

// Laws that are known in closed form.
func TestKnownLaws(t *testing.T) {
	normal := func(mean, deviation float64) func(float64) float64 {
		return distuv.Normal{Mu: mean, Sigma: deviation}.CDF
	}
	well := byQuadrature(func(x float64) float64 { return math.Exp(-8 * (x*x*x*x/4 - x*x/2)) }, -3, 3) // of σ = ½
	tilted := byQuadrature(func(x float64) float64 { return math.Exp(-32 * (x*x*x*x/4 - x*x/2 + 0.02*x)) }, -3, 3)
	half := sde.Range{Ends: sde.Reflecting, Lo: 0, Hi: math.Inf(1)}
	positive := sde.Range{Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}
	circle := sde.Range{Ends: sde.Joined, Lo: 0, Hi: 2}
	for _, test := range []struct {
		name             string
		drift, diffusion []string
		domain           sde.Domain
		around           []float32
		laws             [2]func(float64) float64
	}{
		{"turning", []string{"-x[0] - 3*x[1]", "-x[1] + 3*x[0]"}, []string{"sqrt(2)"}, nil, []float32{-1, -1, 1, 1}, [2]func(float64) float64{normal(0, 1), normal(0, 1)}},
		{"far and narrow", []string{"-(x[0] - 40)", "-100*(x[1] + 7)"}, []string{"sqrt(2)", "sqrt(2)"}, nil, []float32{20, -20, 45, 0}, [2]func(float64) float64{normal(40, 1), normal(-7, 0.1)}},
		// b = −½σ²∇V + the same turned: the law is exp(−V), and the drift is no gradient.
		{"wells with a swirl", []string{"x[0] - x[0]^3 - x[1]", "-x[1] + x[0]^3 - x[0]"}, []string{"0.5"}, nil, []float32{-1, -1, 1, 1}, [2]func(float64) float64{well, normal(0, math.Sqrt(1./8))}},
		{"a barrier of 16 kT with a swirl", []string{"x[0] - x[0]^3 - 0.02 - x[1]", "-x[1] + x[0]^3 - x[0] + 0.02"}, []string{"0.25"}, nil, []float32{-1.2, -1, 1.2, 1}, [2]func(float64) float64{tilted, normal(0, math.Sqrt(1./32))}},
		{"multiplicative", []string{"-x[0]", "-x[1]"}, []string{"sqrt(1 + x[0]^2/2)", "sqrt(2)"}, nil, []float32{-1, -1, 1, 1}, [2]func(float64) float64{distuv.StudentsT{Sigma: math.Sqrt(0.4), Nu: 5}.CDF, normal(0, 1)}},
		{"reflecting and positive", []string{"-1", "2 - x[1]"}, []string{"1", "sqrt(x[1])"}, sde.Domain{half, positive}, []float32{0.1, 1, 1, 3}, [2]func(float64) float64{distuv.Exponential{Rate: 2}.CDF, distuv.Gamma{Alpha: 4, Beta: 2}.CDF}},
		{"circles", []string{"1 + 0*x[0]", "0.3*sin(pi*x[1])"}, []string{"1"}, sde.Domain{circle, circle}, []float32{0.1, 0.1, 1, 1}, [2]func(float64) float64{
			func(x float64) float64 { return x / 2 },
			byQuadrature(func(x float64) float64 { return math.Exp(-0.6 / math.Pi * math.Cos(math.Pi*x)) }, 0, 2),
		}},
		{"a circle and a line", []string{"-sin(pi*x[0])", "-x[1] + cos(pi*x[0])*0"}, []string{"1"}, sde.Domain{circle, sde.WholeLine}, []float32{0.1, -1, 1, 1}, [2]func(float64) float64{
			byQuadrature(func(x float64) float64 { return math.Exp(2 / math.Pi * math.Cos(math.Pi*x)) }, 0, 2), normal(0, math.Sqrt(0.5)),
		}},
	} {
		t.Run(test.name, func(t *testing.T) {
			law, err := solve(t, test.drift, test.diffusion, test.domain, test.around...)
			if err != nil {
				t.Fatal(err)
			}
			off := 0.
			for c, cdf := range test.laws {
				at, below := law.marginal(c)
				for k, x := range at {
					off = max(off, math.Abs(below[k]-cdf(x)))
				}
			}
			t.Logf("%d cells, error %.2g, estimate %.2g, box %v", law.n, off, law.Error, law.axes)
			if !(off <= law.Error) || law.Error > tolerable {
				t.Errorf("the distribution functions are off by %.2g, and by the estimate %.2g", off, law.Error)
			}
		})
	}
}

// Draws have the law, and its variance: within a cell they are not even.
func TestSample(t *testing.T) {
	law, err := solve(t, []string{"-x[0] - 3*x[1]", "-x[1] + 3*x[0]"}, []string{"sqrt(2)"}, nil, -1, -1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	const n = 1 << 20
	x := make([]float32, 2*n)
	law.Sample(x, random.New(1, "fokkerplanck/sample"))
	variance := 0.
	for _, v := range x {
		variance += float64(v) * float64(v) / (2 * n)
	}
	h := law.side(0)
	// The standard error is 0.001, and a sixth of the square of a side is 0.005.
	if math.Abs(variance-1) > 0.003+law.Error/4 || h*h/6 < 0.004 {
		t.Errorf("the variance is %.4f, the sides of cells %.3f", variance, h)
	}
	if d := law.From(x); d.Gap() > 2.45/math.Sqrt(n) {
		t.Errorf("%+v", d)
	}
	mean, covariance := law.Moments()
	for c := range 2 {
		if math.Abs(mean[c]) > 0.001 || math.Abs(covariance[c][c]-1) > 0.001 || math.Abs(covariance[c][1-c]) > 0.001 {
			t.Errorf("mean %.5f, covariance %.5f", mean, covariance)
		}
		if q := law.Quantile(c, 0.975); math.Abs(q-1.95996) > 0.01 {
			t.Errorf("a quantile is %.4f", q)
		}
	}
	total := 0.
	for _, cell := range law.Cells() {
		want := math.Exp(-(cell.X*cell.X+cell.Y*cell.Y)/2) / (2 * math.Pi)
		total += cell.Density * h * h
		if math.Abs(cell.Density-want) > 0.002 {
			t.Errorf("%+v, want a density of %.4f", cell, want)
			break
		}
	}
	if math.Abs(total-1) > 1e-9 {
		t.Errorf("the densities are %g in all", total)
	}
	if outside := law.Outside([]float32{0, 0, 100, 0}); outside != 0.5 {
		t.Errorf("%g of two states are outside", outside)
	}
}

// byQuadrature is the distribution function of a density between two ends.
func byQuadrature(density func(float64) float64, lo, hi float64) func(float64) float64 {
	const panels = 1 << 14
	h := (hi - lo) / panels
	sums := make([]float64, panels+1)
	for k := range panels {
		sums[k+1] = sums[k] + density(lo+(float64(k)+0.5)*h)
	}
	return func(x float64) float64 {
		u := min(max((x-lo)/h, 0), panels)
		k := min(int(u), panels-1)
		return (sums[k] + (u-float64(k))*(sums[k+1]-sums[k])) / sums[panels]
	}
}

// Of a linear equation with oblique noise the law is normal, with the covariance of Lyapunov's equation. Its
// quadrants show correlations, which marginals do not.
func TestObliqueNoise(t *testing.T) {
	law, err := solve(t, []string{"-x[0] + 0.5*x[1]", "-0.3*x[0] - 2*x[1]"}, []string{"1", "0", "0.8", "0.5"}, nil, -1, -1, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	// AC + CAᵀ = −SSᵀ for (c₀₀, c₀₁, c₁₁)
	var c mat.VecDense
	if err := c.SolveVec(mat.NewDense(3, 3, []float64{-2, 1, 0, -0.3, -3, 0.5, 0, -0.6, -4}), mat.NewVecDense(3, []float64{-1, -0.8, -0.89})); err != nil {
		t.Fatal(err)
	}
	// P(X ≤ 0, Y ≤ 0) = ¼ + arcsin(ρ)/2π. The corners of the cells do not include 0, so a neighbour is within one cell.
	rho := c.AtVec(1) / math.Sqrt(c.AtVec(0)*c.AtVec(2))
	want := 0.25 + math.Asin(rho)/(2*math.Pi)
	below := law.at(-law.axes[0].lo/law.side(0), -law.axes[1].lo/law.side(1))
	if rho < 0.5 || math.Abs(below-want) > 0.003 {
		t.Errorf("a quadrant has %.4f, want %.4f (correlation %.3f, error %.2g)", below, want, rho, law.Error)
	}
}

// at is the distribution function between corners.
func (l *Law) at(u, v float64) float64 {
	i, j := int(u), int(v)
	u, v = u-float64(i), v-float64(j)
	f := func(i, j int) float64 { return l.below[i*(l.n+1)+j] }
	return (1-u)*((1-v)*f(i, j)+v*f(i, j+1)) + u*((1-v)*f(i+1, j)+v*f(i+1, j+1))
}

// What cells cannot resolve is an error, never a wrong law.
func TestUnresolved(t *testing.T) {
	for _, test := range []struct {
		name             string
		drift, diffusion []string
		around           []float32
	}{
		{"no law", []string{"0*x[0]", "-x[1]"}, []string{"1"}, []float32{-1, -1, 1, 1}},
		{"escapes", []string{"x[0]", "-x[1]"}, []string{"1"}, []float32{-1, -1, 1, 1}},
		{"not finite", []string{"-x[0] + 0*log(x[0])", "-x[1]"}, []string{"1"}, []float32{-1, -1, 1, 1}},
		{"a tiny ring", []string{"100*x[0]*(1 - x[0]^2 - x[1]^2) - x[1]", "100*x[1]*(1 - x[0]^2 - x[1]^2) + x[0]"}, []string{"0.02"}, []float32{-1, -1, 1, 1}},
		{"one state", []string{"-x[0]", "-x[1]"}, []string{"1"}, []float32{1, 1}},
	} {
		if law, err := solve(t, test.drift, test.diffusion, nil, test.around...); !errors.Is(err, ErrUnresolved) {
			t.Errorf("%s: error %v, law on %v", test.name, err, law.axes)
		} else {
			t.Logf("%s: %v", test.name, err)
		}
	}
	if _, err := Solve(expressiontest.Space(t, 3, "-x[i]", "1"), nil); !errors.Is(err, ErrUnresolved) {
		t.Errorf("three dimensions: error %v", err)
	}
}
