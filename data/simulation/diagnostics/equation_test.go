package diagnostics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// euler are the states of many chains of an equation after that many steps from N(0, 1).
func euler(t *testing.T, drift, diffusion string, dt float64, steps int) (b, sigma *expression.Expression, x []float64) {
	t.Helper()
	b, sigma = expressiontest.Line(t, drift, diffusion)
	x = make([]float64, mostStates)
	s := simulate.Scheme{DT: dt, BurnIn: steps, Thin: 1, Chains: len(x)}
	engine, err := simulate.NewEngine(expression.Engines()[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := engine.EulerMaruyamaFunc(context.Background(), x, expression.NewEquation(b, sigma).Bind, sde.WholeLine, s, 1, 0, "test", nil); err != nil {
		t.Fatal(err)
	}
	return b, sigma, x
}

// The Euler scheme gives a linear drift −λx and σ the variance σ²/2λ/(1 − q), q = λ·dt/2.
// Warnings begin above 5 %, and name a step with 1 %.
func TestTimeStep(t *testing.T) {
	for _, c := range []struct {
		drift      string
		lambda, dt float64
		step       string
	}{
		{"-150*x", 150, 0.01, "--dt 0.00013"},
		{"-60*x", 60, 0.01, "--dt 0.00033"},
		{"-170*x", 170, 0.01, "--dt 0.00012"},
		{"-9*x", 9, 0.01, ""}, // 4.7 %
		{"-11*x", 11, 0.01, "--dt 0.0018"},
		{"-x", 1, 0.01, ""},
		{"1000-60*x", 60, 0.01, "--dt 0.00033"},
		{"-0.06*x", 0.06, 10, "--dt 0.33"},
	} {
		b, sigma, x := euler(t, c.drift, "1", c.dt, 1000)
		q := c.lambda * c.dt / 2
		variance := stat.Variance(x, nil)
		if want := 1 / (2 * c.lambda * (1 - q)); !(math.Abs(variance/want-1) <= 0.1) {
			t.Errorf("%s: variance %.4g, want %.4g", c.drift, variance, want)
		}
		got := warningsOf(b, sigma, c.dt, x)
		inflation := 0.
		if got != "" {
			unit := ""
			if _, err := fmt.Sscanf(got, fmt.Sprintf("steps of %g make the variance about %%g %%s", c.dt), &inflation, &unit); err != nil {
				t.Errorf("%s: %q: %v", c.drift, got, err)
			}
			if unit == "times" {
				inflation = 100 * (inflation - 1)
			}
		}
		if want := 100 * q / (1 - q); (got == "") != (c.step == "") || got != "" && !(math.Abs(inflation/want-1) <= 0.06) || !strings.HasSuffix(got, c.step) {
			t.Errorf("%s by %g: %q, want %.3g %% and %q", c.drift, c.dt, got, want, c.step)
		}
	}
}

// warningsOf are those of an equation.
func warningsOf(b, sigma *expression.Expression, dt float64, x []float64) string {
	warnings, _ := about(b.Eval, sigma.Eval, dt, some(x))
	return strings.Join(warnings, "; ")
}

// Chains that still approach their law from far away do not blame the time step.
func TestTimeStepOutOfEquilibrium(t *testing.T) {
	b, sigma, x := euler(t, "-x", "1e-6", 0.01, 10)
	if got := warningsOf(b, sigma, 0.01, x); got != "" {
		t.Error(got)
	}
}

// A step is added to the covariance of linear equations in the plane: bᵀC⁻¹b is the mean, over
// directions, of what M = I + dt·A makes of C = MCMᵀ + dt·SSᵀ beyond AC + CAᵀ + SSᵀ = 0.
// In any dimension a linear equation's inflation is exact: that of each direction, in the mean of
// their noise.
func TestInflationInSpace(t *testing.T) {
	const dim, dt = 5, 0.1
	r := rand.New(rand.NewPCG(1, 2))
	const n = 200_000
	x, b, noise := make([]float64, n*dim), make([]float64, n*dim), make([]float64, dim*dim)
	want, total := 0., 0.
	for k := range dim {
		rate := float64(k + 1)
		q := rate * dt / 2
		variance := 1 / (2 * rate * (1 - q)) // of the scheme, with σ = 1
		noise[k*dim+k] = 1
		want += q / (1 - q) / variance
		total += 1 / variance
		for at := k; at < len(x); at += dim {
			x[at] = math.Sqrt(variance) * r.NormFloat64()
			b[at] = -rate * x[at]
		}
	}
	if got := Inflation(dt, dim, x, b, noise); math.Abs(got/(want/total)-1) > 0.02 {
		t.Errorf("inflation %v, want %v", got, want/total)
	}
}

func TestInflationInThePlane(t *testing.T) {
	for _, c := range []struct {
		name        string
		a, s        [4]float64
		dt          float64
		least, most float64 // of the relative errors along all directions, by those two equations
	}{
		{"isotropic", [4]float64{-1, 0, 0, -1}, [4]float64{1, 0, 0, 1}, 0.1, 0.05263, 0.05264},
		{"one stiff axis with little noise", [4]float64{-1, 0, 0, -60}, [4]float64{10, 0, 0, 0.01}, 0.01, 0.40, 0.4286},
		{"rotation", [4]float64{-1, 5, -5, -1}, [4]float64{1, 0, 0, 1}, 0.01, 0.1494, 0.1495},
		{"noise along one axis", [4]float64{0, 1, -1, -0.1}, [4]float64{0, 0, 0, 1}, 0.01, 0.1058, 0.1170},
		{"shear", [4]float64{-1, 30, 0, -1}, [4]float64{1, 0, 0, 1}, 0.01, 0.0029, 0.0173},
	} {
		rng := rand.New(rand.NewPCG(1, 2))
		const n = 1500
		x, b := make([]float64, 2*n), make([]float64, 2*n)
		move := func(steps int) {
			root := math.Sqrt(c.dt)
			for i := range n {
				u, v := x[2*i], x[2*i+1]
				for range steps {
					z, w := rng.NormFloat64(), rng.NormFloat64()
					u, v = u+c.dt*(c.a[0]*u+c.a[1]*v)+root*(c.s[0]*z+c.s[1]*w), v+c.dt*(c.a[2]*u+c.a[3]*v)+root*(c.s[2]*z+c.s[3]*w)
				}
				x[2*i], x[2*i+1] = u, v
				b[2*i], b[2*i+1] = c.a[0]*u+c.a[1]*v, c.a[2]*u+c.a[3]*v
			}
		}
		move(5000)
		s := c.s
		noise := []float64{s[0]*s[0] + s[1]*s[1], s[0]*s[2] + s[1]*s[3], s[0]*s[2] + s[1]*s[3], s[2]*s[2] + s[3]*s[3]}
		got := Inflation(c.dt, 2, x, b, noise)
		if !(got >= 0.85*c.least && got <= 1.15*c.most) {
			t.Errorf("%s: %.4g, want it in %g…%g", c.name, got, c.least, c.most)
		}
	}
}

// Equations without an invariant law or without moments, and chains at rest, are told; others
// are not.
func TestEquation(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: statistics of what one goroutine draws")
	}
	for _, c := range []struct {
		drift, diffusion string
		dt               float64
		steps            int
		want             string
	}{
		{"-x", "1", 0.01, 2000, ""},
		{"x-x^3", "0.7", 0.01, 2000, ""},
		{"x-x^3", "0.2", 0.01, 2000, ""},
		{"-x", "x", 0.001, 2000, "no invariant law"},
		{"-x", "x", 0.1, 10000, "come to rest at x = 0"},
		{"-x", "x", 0.01, 10000, "no invariant law"},
		{"0", "1", 0.01, 2000, "no invariant law"},
		{"1", "1", 0.01, 2000, "no invariant law"},
		{"x", "1", 0.01, 300, "no invariant law"},
		{"1-x", "x", 0.01, 2000, ""},
		{"-x/(1+x^2)", "1", 0.01, 2000, "no mean and no variance"},
		{"-1.4*x/(1+x^2)", "1", 0.01, 2000, "no variance"},
		{"-x", "0", 0.01, 2000, ""},
		{"-x", "abs(x-0.0123)", 0.01, 1000, ""},
	} {
		b, sigma, x := euler(t, c.drift, c.diffusion, c.dt, c.steps)
		got := warningsOf(b, sigma, c.dt, x)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s, %s: %q, want %q", c.drift, c.diffusion, got, c.want)
		}
	}
}
