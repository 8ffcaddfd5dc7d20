package data

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Of dX = -κX dt + √(2κ) dW from its invariant law N(0, 1) the memory is exp(−κT/2) for the
// burn-in T. It stays the same when time is scaled, also where the burn-in is longer than a
// pilot run.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		rate, dt float64
		burnIn   int
	}{{1, 0.01, 50}, {1, 0.01, 200}, {0.01, 1, 200}, {100, 1e-4, 200}, {0.1, 0.01, 2000}, {0.01, 0.01, 20000}, {0.001, 0.01, 5000}} {
		d, f := relaxing(t, c.rate)
		got, err := d.memory(t.Context(), f, simulate.Scheme{DT: c.dt, BurnIn: c.burnIn, Thin: 1, Chains: 1})
		want := math.Exp(-c.rate * c.dt * float64(c.burnIn) / 2)
		if err != nil || math.Abs(got-want) > 0.05 {
			t.Errorf("rate %g, %d steps of %g: memory %.3f, want %.3f, error %v", c.rate, c.burnIn, c.dt, got, want, err)
		}
	}
	d, f := relaxing(t, 1)
	if got, err := d.memory(t.Context(), f, simulate.Scheme{DT: 0.01, Thin: 1, Chains: 1}); got != 1 || err != nil {
		t.Errorf("without a burn-in: memory %v, error %v", got, err)
	}
}

// A pilot run warns of a family that is slower than its burn-in, and the burn-in that the
// warning names would do.
func TestPilotRunWarnsOfMemory(t *testing.T) {
	d, f := relaxing(t, 0.01)
	for _, c := range []struct {
		burnIn int
		want   string
	}{
		{0, "remember their start after 0 steps of 0.01"},
		{5000, "a burn_in of 41000 steps would do"},
		{50_000, ""},
	} {
		d.Training.BurnIn = c.burnIn
		warnings, err := d.PilotRun(t.Context(), f)
		text := strings.Join(warnings, "\n")
		if err != nil || !strings.Contains(text, c.want) || (text == "") != (c.want == "") {
			t.Errorf("burn-in %d: %q, error %v", c.burnIn, text, err)
		}
	}
}

// relaxing is a data set of the family dX = -κX dt + √(2κ) dW with rate κ.
func relaxing(t *testing.T, rate float64) (Dataset, family.Family) {
	t.Helper()
	definition, err := family.Parse(fmt.Appendf(nil, "name: relaxing\ndim: 1\ngrid: {lo: -6, hi: 6, nodes: 21}\nparameters: {a: \"uniform(%g, %g)\"}\ndrift: -a*x\ndiffusion: sqrt(2*a)", rate, 1.0001*rate))
	if err != nil {
		t.Fatal(err)
	}
	d := tiny()
	d.Family, d.Samples, d.ReferenceDraws = definition.String(), 64, Exact
	d.Training = simulate.Scheme{DT: 0.01, BurnIn: 500, Thin: 10, Chains: 16}
	f, err := family.ByName(d.Family)
	if err != nil {
		t.Fatal(err)
	}
	return d, f
}
