package evaluate

import (
	"context"
	"reflect"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
)

// Rows asked for alone are those of the whole table, with what they cost.
func TestSomeKinds(t *testing.T) {
	o := smoke(t, backendtest.Fast(t), "vn1d")
	o.Experiment.Evaluation.Functions, o.Experiment.Evaluation.Samples = 3, 128
	all, _, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	o.Kinds = []Kind{MCMC, Normal}
	some, shown, err := Run(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(some.Rows) != 2 || shown.Percentiles != nil {
		t.Fatalf("%d rows, %d percentiles of a model that was not asked for", len(some.Rows), len(shown.Percentiles))
	}
	for _, got := range some.Rows {
		want, _ := all.Row(got.Kind)
		if got.ModelCloser != nil || want.ModelCloser == nil {
			t.Errorf("%s: closer %v without a model, %v with it", got.Name, got.ModelCloser, want.ModelCloser)
		}
		want.ModelCloser = nil
		if !reflect.DeepEqual(withoutTimes(got), withoutTimes(want)) {
			t.Errorf("%s alone differs:\n%+v\n%+v", got.Name, got, want)
		}
	}
	scheme := o.Experiment.Evaluation.MCMC[0].Scheme // 64 chains of two samples each
	if got, want := some.Rows[0].SimulatedSteps, 64*(scheme.BurnIn+scheme.Thin); got != want {
		t.Errorf("%d simulated steps, want %d", got, want)
	}
	if got, want := some.Rows[0].SequentialSteps, scheme.BurnIn+scheme.Thin; got != want {
		t.Errorf("%d steps of a chain, want %d", got, want)
	}
	if r := some.Rows[1]; r.SimulatedSteps != 0 || r.SequentialSteps != 0 {
		t.Errorf("%s takes %d and %d steps", r.Name, r.SimulatedSteps, r.SequentialSteps)
	}
	if model, _ := all.Row(Model); model.SimulatedSteps != 0 || model.SequentialSteps != 16 {
		t.Errorf("rk4-4 simulates %d steps and evaluates %d times", model.SimulatedSteps, model.SequentialSteps)
	}
}
