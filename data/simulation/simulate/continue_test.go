package simulate_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func formulas(t *testing.T, drift, diffusion string) simulate.Equation {
	t.Helper()
	b, sigma := expressiontest.Line(t, drift, diffusion)
	return expression.NewEquation(b, sigma).Bind
}

// Chains that continue from the first states of others end where those end: bitwise where
// states are x, and else up to rounding. That holds for numbers of chains that do not fill the
// last block.
func TestContinue(t *testing.T) {
	grid := sde.Grid{Lo: -5, Hi: 5, N: 64}
	b, sigma := expressiontest.Line(t, "x - x^3", "0.7 + 0.1*cos(x)")
	line, err := expression.Tabulate(b, sigma, grid)
	if err != nil {
		t.Fatal(err)
	}
	plane, err := family.TabulatePlane([]string{"y", "x - x^3 - y"}, []string{"0", "0.6"}, grid)
	if err != nil {
		t.Fatal(err)
	}
	particles := sde.Particles{N: 5, Trap: 0.5, Noise: 1, Force: sde.Tabulate(func(r2 float64) float64 { return math.Exp(-r2) }, 0, 4)}
	for _, name := range simulate.Engines() {
		e, err := simulate.NewEngine(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, system := range []sde.System{line, plane, particles} {
			for _, chains := range []int{1, 70, 129} {
				run := func(steps int) []float32 {
					x := make([]float32, chains*system.Dim())
					s := simulate.Scheme{DT: 0.01, BurnIn: steps, Thin: 1, Chains: chains}
					if err := e.Chains(t.Context(), x, system, s, 3, 4, "continue"); err != nil {
						t.Fatal(err)
					}
					return x
				}
				x, want := run(0), run(40)
				if err := e.Continue(t.Context(), x, system, 0.01, 40, 3, 4, "continue"); err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				for i := range x {
					worst = max(worst, math.Abs(float64(x[i]-want[i])))
				}
				_, exact := system.(sde.Plane)
				if exact && worst != 0 || !(worst < 1e-4) {
					t.Errorf("%s, %T, %d chains: they end %g from where those that began so end", name, system, chains, worst)
				}
			}
		}
		equation := formulas(t, "x - x^3", "0.7")
		run := func(steps int) []float64 {
			x := make([]float64, 70)
			s := simulate.Scheme{DT: 0.01, BurnIn: steps, Thin: 1, Chains: len(x)}
			if err := e.EulerMaruyamaFunc(t.Context(), x, equation, sde.WholeLine, s, 3, 4, "continue", nil); err != nil {
				t.Fatal(err)
			}
			return x
		}
		x, want := run(0), run(40)
		if err := e.ContinueFunc(t.Context(), x, equation, sde.WholeLine, 0.01, 40, 3, 4, "continue"); err != nil {
			t.Fatal(err)
		}
		for i := range x {
			if x[i] != want[i] {
				t.Fatalf("%s, formulas: chain %d ends at %g, one that began so at %g", name, i, x[i], want[i])
			}
		}
	}
}

// Continue refuses what is no state, and names a chain that diverges.
func TestContinueRefuses(t *testing.T) {
	e, equation := simulate.Fastest(), formulas(t, "-x", "1")
	positive := sde.Range{Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}
	if err := e.ContinueFunc(t.Context(), []float64{1, -1}, equation, positive, 0.01, 1, 1, 1, ""); err == nil {
		t.Error("a state outside the domain is taken")
	}
	if err := e.ContinueFunc(t.Context(), nil, equation, sde.WholeLine, 0.01, 1, 1, 1, ""); err == nil {
		t.Error("no state is taken")
	}
	if err := e.ContinueFunc(t.Context(), []float64{1}, equation, sde.WholeLine, 0, 1, 1, 1, ""); err == nil {
		t.Error("a step of 0 is taken")
	}
	var diverged *simulate.DivergedError
	err := e.ContinueFunc(t.Context(), []float64{0, 0, 2, 0}, formulas(t, "x^3 - x", "0"), sde.WholeLine, 0.1, 100, 1, 1, "")
	if !errors.As(err, &diverged) || diverged.Chain != 2 {
		t.Errorf("chain 2 explodes: %v", err)
	}
}
