package evaluate

import (
	"reflect"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// conditioned is smoke with a state whose samples depend on its input.
func conditioned(t *testing.T, name string) Options {
	t.Helper()
	o := smoke(t, backendtest.Fast(t), name)
	rng := random.New(1, "test/parameters")
	for i := range o.State.Parameters {
		o.State.Parameters[i] += float32(0.1 * rng.NormFloat64())
	}
	return o
}

// drawn are the samples of one row.
func drawn(t *testing.T, rows []method, kind Kind) [][]float32 {
	t.Helper()
	for _, m := range rows {
		if m.row.Kind == kind {
			samples, _, err := m.draw(t.Context(), silent)
			if err != nil {
				t.Fatal(err)
			}
			return samples
		}
	}
	t.Fatalf("no row of kind %s", kind)
	return nil
}

// The row of the longest time is the model given each function's equation at the
// last of the times, whatever the function's own.
func TestLongestTime(t *testing.T) {
	o := conditioned(t, "vn1d_time")
	o.Experiment.Evaluation.Samples = 64
	f, functions := heldOutOf(t, o)
	rows, release, err := networks(o, f, functions)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	late := make([]flow.Subject, len(functions))
	for i := range late {
		made, err := f.Function(o.Experiment.Data.Seed, o.Experiment.Data.Functions+i)
		if err != nil {
			t.Fatal(err)
		}
		if made, err = f.(family.Timed).At(made, 50); err != nil {
			t.Fatal(err)
		}
		late[i] = flow.Subject{Index: functions[i].index, Function: made}
	}
	n := &network{Options: o, family: f}
	defer n.close()
	want, _, err := n.draw(o.State, functions, late)(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(drawn(t, rows, Longest), want) {
		t.Error("the row is not of the longest time")
	}
}

// Functions are sampled in groups; each starts from noise of its own, in whichever
// group. Given one function throughout, a network differs in the noise alone.
func TestNoiseOfGroups(t *testing.T) {
	o := conditioned(t, "vn1d")
	o.Experiment.Data.HeldOut, o.Experiment.Evaluation.Functions = group+2, group+2
	o.Experiment.Evaluation.Samples = 16
	f, functions := heldOutOf(t, o)
	inputs := subjects(functions)
	for i := range inputs {
		inputs[i] = inputs[0]
	}
	n := &network{Options: o, family: f}
	defer n.close()
	samples, _, err := n.draw(o.State, functions, inputs)(t.Context(), silent)
	if err != nil {
		t.Fatal(err)
	}
	for i := range samples {
		for j := range i {
			if reflect.DeepEqual(samples[i], samples[j]) {
				t.Errorf("functions %d and %d start from the same noise", j, i)
			}
		}
	}
}
