package data

import (
	"errors"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func TestStepsAreLost(t *testing.T) {
	engine := plainEngine(t)
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
		err := StepsAreLost(t.Context(), engine, formulas(t, c.drift, c.diffusion), simulate.Scheme{DT: c.dt, Start: c.start}, 5000, 1)
		if (c.want != "") != errors.Is(err, ErrLostStep) || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s from %q by %g: %v, want %q", c.drift, c.diffusion, c.start, c.dt, err, c.want)
		}
	}
}
