package evaluate

import (
	"context"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

func silent(int, int) {}

// heldOutOf makes the held-out functions of an evaluation.
func heldOutOf(t *testing.T, o Options) (family.Family, []heldOutFunction) {
	t.Helper()
	f, err := family.ByName(o.Experiment.Data.Family)
	if err != nil {
		t.Fatal(err)
	}
	functions, err := heldOut(t.Context(), o, f, silent)
	if err != nil {
		t.Fatal(err)
	}
	return f, functions
}

// A baseline's chains are of each function's own equation, by the baseline's scheme,
// and independent of those of the reference, though the schemes are the same.
func TestMCMCIsOfTheHeldOutEquations(t *testing.T) {
	o := smoke(t, nil, "vn1d")
	o.Experiment.Seed, o.Experiment.Data.Seed = 2, 3
	o.Experiment.Evaluation.Functions = 3
	o.Experiment.Evaluation.Samples = o.Experiment.Data.StoredReference()
	same := o.Experiment.Data.Reference
	shorter := same
	shorter.BurnIn, shorter.Chains = 7, 16
	o.Experiment.Evaluation.MCMC = []experiment.MCMC{{Name: "as the reference", Scheme: same}, {Name: "shorter", Scheme: shorter}}
	f, functions := heldOutOf(t, o)
	n := o.Experiment.Evaluation.Samples
	for _, m := range o.Experiment.Evaluation.MCMC {
		samples, _, err := baselines{o, f, functions}.mcmc(m).draw(t.Context(), silent)
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range samples {
			index := o.Experiment.Data.Functions + i
			made, err := f.Function(o.Experiment.Data.Seed, index)
			if err != nil {
				t.Fatal(err)
			}
			want := make([]float32, n)
			if err := simulate.Chains(context.Background(), want, made.System, m.Scheme, 3, uint64(index), "mcmc/"+m.Name); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: samples of function %d are not of its equation's chains", m.Name, index)
			}
			if slices.Equal(got, functions[i].reference) {
				t.Errorf("%s: samples of function %d are the reference", m.Name, index)
			}
		}
	}
}
