package data

import (
	"errors"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The equation is to blame where it leads away without noise, or reaches infinity; the time
// step where the drift leads back, or took chains to where it leads away.
func TestExplodes(t *testing.T) {
	engine := plainEngine(t)
	for _, c := range []struct {
		drift, diffusion string
		start            simulate.Start
		dt               float64
		want             bool
	}{
		{"x^3", "1", "", 0.01, true},
		{"x^3 - x", "1", "normal(0, 0.1)", 0.01, true}, // noise takes it there, from where it explodes
		{"x*(1-x)", "0.5*x", "", 0.01, true},
		{"x*(1-x)", "0.5*x", "uniform(0.5, 1.5)", 3, false},
		{"-x", "1", "", 1e300, false},
		{"-x", "1", "", 3, false},
		{"-x^3", "1", "normal(0, 100)", 0.1, false},
		{"1", "1", "", 1e5, true},
		{"1000 - x", "1", "normal(1000, 1)", 3, false},
		{"(x - 1000)^3", "1", "normal(1000, 1)", 0.01, true},
	} {
		equation := formulas(t, c.drift, c.diffusion)
		s := simulate.Scheme{DT: c.dt, BurnIn: 10_000, Thin: 1, Chains: 64, Start: c.start}
		err := engine.EulerMaruyamaFunc(t.Context(), make([]float64, 64), equation, sde.WholeLine, s, 0, 0, "simulate", nil)
		var diverged *simulate.DivergedError
		if !errors.As(err, &diverged) {
			t.Fatalf("%s: %v", c.drift, err)
		}
		if got := Explodes(engine, equation, s, 0, diverged); got != c.want {
			t.Errorf("%s, %s from %q by %g: explodes %v (%v)", c.drift, c.diffusion, c.start, c.dt, got, err)
		}
	}
}
