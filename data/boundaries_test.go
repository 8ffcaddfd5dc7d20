package data

import (
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func formulas(t *testing.T, drift, diffusion string) simulate.Equation {
	t.Helper()
	b, sigma := expressiontest.Line(t, drift, diffusion)
	return expression.NewEquation(b, sigma).Bind
}

// plainEngine has instructions for formulas in every build.
func plainEngine(t *testing.T) *simulate.Engine {
	t.Helper()
	engine, err := simulate.NewEngine("go")
	if err != nil {
		t.Fatal(err)
	}
	return engine
}

func TestBoundariesOfFormulas(t *testing.T) {
	engine := plainEngine(t)
	for _, c := range []struct {
		drift, diffusion, domain string
		lo, hi                   density.Boundary
		warning                  string
	}{
		{"x*(1-x)", "0.5*x", "(0, inf)", density.Natural, density.Entrance, ""},
		{"0.2 - x", "sqrt(x)", "(0, inf)", density.Regular, density.Natural, "0 is a regular boundary"},
		{"x", "sqrt(x)", "(0, inf)", density.Exit, density.Natural, "0 is an exit boundary"},
		{"1 - 2*x", "sqrt(x*(1-x))", "(0, 1)", density.Entrance, density.Entrance, ""},
		{"-x", "x - 0.9", "(0, 2)", "", density.Regular, "2 is a regular boundary"},
	} {
		domain, err := simulate.ParseDomain(c.domain)
		if err != nil {
			t.Fatal(err)
		}
		inside := 1.
		if domain.Hi == 1 {
			inside = 0.5
		}
		got := BoundariesOf(engine, formulas(t, c.drift, c.diffusion), domain, inside)
		warnings := strings.Join(got.Warnings(), "; ")
		if got.Lo != c.lo || got.Hi != c.hi || (warnings == "") != (c.warning == "") || !strings.Contains(warnings, c.warning) {
			t.Errorf("%s, %s in %s: %+v with the warnings %q", c.drift, c.diffusion, c.domain, got, warnings)
		}
	}
}

// In a domain whose ends are never reached the samples have the invariant law: that of the
// logistic equation is a gamma law of mean 1 − σ²/2 and variance mean·σ²/2.
func TestLogisticInItsDomain(t *testing.T) {
	x := make([]float64, 1<<13)
	s := simulate.Scheme{DT: 0.002, BurnIn: 6000, Thin: 1, Chains: len(x), Start: "uniform(0.5, 1.5)"}
	err := plainEngine(t).EulerMaruyamaFunc(t.Context(), x, formulas(t, "x*(1-x)", "0.5*x"), sde.Range{Ends: sde.Open, Lo: 0, Hi: math.Inf(1)}, s, 1, 0, "test", nil)
	if err != nil {
		t.Fatal(err)
	}
	mean, variance := stat.MeanVariance(x, nil)
	// Five standard errors of the mean; the variance within 10 %.
	if math.Abs(mean-0.875) > 5*math.Sqrt(0.109375/float64(len(x))) || math.Abs(variance/0.109375-1) > 0.1 {
		t.Errorf("mean %.4f, variance %.4f: want 0.875 and 0.1094", mean, variance)
	}
}
