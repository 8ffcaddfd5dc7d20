package certificate

import (
	"context"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func plane(t *testing.T, drift, diffusion []string) Subject {
	t.Helper()
	compile := func(sources []string) (compiled []*expression.Expression) {
		for _, source := range sources {
			e, err := expression.CompileIn(source, "x", "y")
			if err != nil {
				t.Fatal(err)
			}
			compiled = append(compiled, e)
		}
		return compiled
	}
	return Subject{Equation: OfFormulas(compile(drift), compile(diffusion)), Grid: grid, Unlearned: math.NaN()}
}

// Normal laws of linear drifts, with rotations, noise along one axis alone, and correlated
// noise, are good. Others have the effects of their covariance. The matrices of the covariance
// C solve AC + CAᵀ + SSᵀ = 0.
func TestPlane(t *testing.T) {
	for _, test := range []struct {
		name             string
		drift, diffusion []string
		x, y             float64 // deviations of the samples
		correlation      float64
		shift            float64 // of x
		want             Verdict
	}{
		{"isotropic", []string{"-x", "-y"}, []string{"sqrt(2)"}, 1, 1, 0, 0, Good},
		{"turned", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, 1, 1, 0, 0, Good},
		{"turned, narrow", []string{"-x - y", "x - y"}, []string{"sqrt(2)"}, 0.6, 0.6, 0, 0, Refused},
		{"slow along x", []string{"-0.01*x", "-y"}, []string{"0.1*sqrt(2)", "sqrt(2)"}, 1, 1, 0, 0, Good},
		{"slow along x, wide there", []string{"-0.01*x", "-y"}, []string{"0.1*sqrt(2)", "sqrt(2)"}, 1.5, 1, 0, 0, Refused},
		{"Langevin", []string{"y", "-x - 0.5*y"}, []string{"0", "1"}, 1, 1, 0, 0, Good},
		{"Langevin, hot", []string{"y", "-x - 0.5*y"}, []string{"0", "1"}, 1.5, 1.5, 0, 0, Refused},
		{"Langevin, shifted", []string{"y", "-x - 0.5*y"}, []string{"0", "1"}, 1, 1, 0, 1, Refused},
		{"correlated noise", []string{"-x", "-y"}, []string{"1", "1", "0", "sqrt(2)"}, 1, 1, math.Sqrt(0.5), 0, Good},
		{"correlated noise, lost", []string{"-x", "-y"}, []string{"1", "1", "0", "sqrt(2)"}, 1, 1, 0, 0, Refused},
		{"shifted", []string{"-x", "-y"}, []string{"sqrt(2)"}, 1, 1, 0, 0.3, Care},
	} {
		rng := random.New(1, "certificate/plane")
		x := make([]float32, 0, 8192)
		for range 4096 {
			u, v := rng.NormFloat64(), rng.NormFloat64()
			x = append(x, float32(test.shift+test.x*u), float32(test.y*(test.correlation*u+math.Sqrt(1-test.correlation*test.correlation)*v)))
		}
		c := plane(t, test.drift, test.diffusion).Certify(x, 2)
		if c.Verdict != test.want {
			t.Errorf("%s: %s, %q\n%+v", test.name, c.Verdict, c.Reasons, c.Checks)
		}
		if test.name == "turned, narrow" {
			if got := c.effect(t, "½x²").Effect; math.Abs(got-(1-0.36)) > 0.05 {
				t.Errorf("%s: effect of ½x² is %.3f, want 0.64", test.name, got)
			}
		}
	}
}

// A table of the plane gives the numbers of its formulas.
func TestPlaneTables(t *testing.T) {
	drift, diffusion := []string{"-x - 0.3*y", "0.2*x - y"}, []string{"1 + 0.1*x", "0.1*y", "0", "2"}
	formulas := plane(t, drift, diffusion)
	p, err := family.TabulatePlane(drift, diffusion, grid)
	if err != nil {
		t.Fatal(err)
	}
	x := normal(2000, 0.3, 0.8, random.New(1, "certificate/tables"))
	a, b := formulas.Equation.test(x, 1000), OfPlane(p).test(x, 1000)
	for k := range a {
		if a[k].Name != b[k].Name || math.Abs(a[k].Effect-b[k].Effect) > 1e-4 || math.Abs(a[k].Z-b[k].Z) > 1e-2 {
			t.Errorf("formula %+v, table %+v", a[k], b[k])
		}
	}
}

// Particles: chains of small steps are good. The virial ratio tells a wrong temperature, and
// the functions of pairs tell particles that ignore each other.
func TestParticles(t *testing.T) {
	width := 0.5
	repelling := sde.Particles{N: 8, Trap: 0.5, Noise: 1, Force: sde.Tabulate(func(r2 float64) float64 {
		return 3 / (width * width) * math.Exp(-r2/(2*width*width))
	}, 0, 3)}
	alone := repelling
	alone.Force = sde.Tabulate(func(float64) float64 { return 0 }, 0, 3)
	simulated := func(p sde.Particles) []float32 {
		x := make([]float32, 2048*p.Dim())
		s := simulate.Scheme{DT: 0.002, BurnIn: 5000, Thin: 1000, Chains: 512}
		if err := simulate.Chains(context.Background(), x, p, s, 1, 0, "certificate"); err != nil {
			t.Fatal(err)
		}
		return x
	}
	good := simulated(repelling)
	hot := make([]float32, len(good))
	for i, v := range good {
		hot[i] = 1.3 * v
	}
	for _, test := range []struct {
		name string
		p    sde.Particles
		x    []float32
		want Verdict
	}{
		{"good", repelling, good, Good},
		{"alone", alone, normal(2048*16, 0, 1, random.New(1, "certificate/alone")), Good},
		{"hot", repelling, hot, Refused},
		{"ignoring each other", repelling, simulated(alone), Refused},
		{"shifted", alone, normal(2048*16, 0.6, 1, random.New(1, "certificate/alone")), Refused},
	} {
		c := Subject{Equation: Particles{test.p}, Unlearned: math.NaN()}.Certify(test.x, test.p.Dim())
		if c.Verdict != test.want {
			t.Errorf("%s: %s, %q", test.name, c.Verdict, c.Reasons)
		}
		for _, k := range c.Checks {
			t.Logf("%-20s %-20s effect %7.3f z %6.1f", test.name, k.Name, k.Effect, k.Z)
		}
	}
	// Of independent particles at another temperature the virial ratio is that of temperatures.
	c := Subject{Equation: Particles{alone}, Unlearned: math.NaN()}.Certify(normal(2048*16, 0, math.Sqrt(1.4), random.New(1, "certificate/hot")), 16)
	if got := c.effect(t, "½Σ|xᵢ|²").Effect; math.Abs(got+0.4) > 0.03 {
		t.Errorf("effect of ½Σ|xᵢ|² at 1.4 times the temperature is %.3f, want -0.4", got)
	}
}
