package data

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Successive steps of a linear drift have the correlation −λ·dt/2 in equilibrium.
func TestOvershoots(t *testing.T) {
	engine, err := simulate.NewEngine("go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		drift, diffusion string
		dt               float64
		steps            int
		want             bool
		correlation      float64
	}{
		{"-x", "1", 0.01, 1000, false, -0.005},
		{"-x", "1", 1, 1000, false, -0.5},
		{"-x", "1", 1.9, 1000, true, -0.95},
		{"-x", "0", 0.5, 1000, false, 1},
		{"x^3", "1", 0.01, 1000, false, 0}, // explodes
	} {
		b, err := expression.Compile(c.drift)
		if err != nil {
			t.Fatal(err)
		}
		sigma, err := expression.Compile(c.diffusion)
		if err != nil {
			t.Fatal(err)
		}
		correlation, yes := Overshoots(t.Context(), engine, expression.NewEquation(b, sigma).Bind, simulate.Scheme{DT: c.dt}, c.steps, 1)
		if yes != c.want || !(math.Abs(correlation-c.correlation) <= 4.5/math.Sqrt(pilotChains)) {
			t.Errorf("%s, %s by %g: %v with the correlation %.2f, want %v with %.2f", c.drift, c.diffusion, c.dt, yes, correlation, c.want, c.correlation)
		}
	}
}
