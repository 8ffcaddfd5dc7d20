package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func TestStepsAreLost(t *testing.T) {
	engine, err := simulate.NewEngine("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		drift, diffusion string
		start            simulate.Start
		dt               float64
		want             string
	}{
		{"1-x", "1", "", 0.01, ""},
		{"1-x", "1", "", 1e-20, ""},
		{"1-x", "1", "uniform(1, 2)", 1e-300, "the noise of a step of 1e-300 is 1e-150 at x = 1"},
		{"1-x", "1", "uniform(1, 2)", 1e-40, "noise"},
		{"1-x", "1e-18", "uniform(1, 2)", 0.01, "noise"},
		{"1-x", "-1e-18", "uniform(1, 2)", 0.01, "noise"},
		{"-x", "1e-18", "normal(0, 1)", 0.01, ""}, // states shrink to where they resolve it
		{"-(x-9e5)", "1e-6", "normal(9e5, 1)", 0.01, ""},
		{"-(x-9e5)", "1e-9", "normal(9e5, 1)", 0.01, "noise"},
		{"1-x", "0", "uniform(1, 2)", 1e-30, "drift"},
		{"1-x", "0", "uniform(1, 2)", 0.1, ""}, // converges
		{"0", "0", "", 0.1, ""},
		{"x^3", "1", "", 0.1, ""}, // explodes
	} {
		b, err := expression.Compile(c.drift)
		if err != nil {
			t.Fatal(err)
		}
		sigma, err := expression.Compile(c.diffusion)
		if err != nil {
			t.Fatal(err)
		}
		err = StepsAreLost(t.Context(), engine, expression.NewEquation(b, sigma).Bind, simulate.Scheme{DT: c.dt, Start: c.start}, 5000, 1)
		if (c.want != "") != errors.Is(err, ErrLostStep) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s from %q by %g: %v, want %q", c.drift, c.diffusion, c.start, c.dt, err, c.want)
		}
	}
}
