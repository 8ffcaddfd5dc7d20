package evaluate

import (
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Chains of Euler's that jump over the walls of a kernel have other energies than the law, chains of small steps
// and those of MALA have not.
func TestReferenceEnergy(t *testing.T) {
	f, err := family.ByName("particles64d")
	if err != nil {
		t.Fatal(err)
	}
	var functions []heldOutFunction
	for _, number := range []int{0, 18} {
		function, err := f.Function(1, number)
		if err != nil {
			t.Fatal(err)
		}
		functions = append(functions, heldOutFunction{index: number, function: function})
	}
	for name, c := range map[string]struct {
		scheme simulate.Scheme
		off    int
	}{
		"large steps": {simulate.Scheme{DT: 0.001, BurnIn: 20_000, Thin: 200}, 2},
		"small steps": {simulate.Scheme{DT: 0.0002, BurnIn: 100_000, Thin: 1000}, 0},
		"MALA":        {simulate.Scheme{DT: 0.0005, BurnIn: 40_000, Thin: 400, Integrator: simulate.MALA}, 0},
	} {
		c.scheme.Chains, c.scheme.Start = 16, "1.5"
		for i := range functions {
			functions[i].reference = make([]float32, 16*16*64)
			if err := simulate.Chains(t.Context(), functions[i].reference, functions[i].function.System, c.scheme, 1, uint64(functions[i].index), "test"); err != nil {
				t.Fatal(err)
			}
		}
		var o Options
		o.Experiment.Data.Reference = c.scheme
		o.Experiment.Evaluation.Samples = 256
		r, err := o.referenceEnergy(t.Context(), f, functions)
		if err != nil || r == nil || r.Off != c.off || (c.off > 0) != (r.Largest < -0.2) {
			t.Fatalf("%s: %+v, error %v", name, r, err)
		}
		t.Logf("%s: %+v: %s", name, *r, r.note(2))
		if said := strings.Contains(r.note(2), "are not of the law"); said != (c.off > 0) {
			t.Errorf("%s: %s", name, r.note(2))
		}
	}
}
