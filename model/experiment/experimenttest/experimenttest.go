// Package experimenttest makes small experiments with untrained networks, for tests.
package experimenttest

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Untrained is the smoke preset of an experiment, its family, and the state before the first step,
// with a normalisation of drift and diffusion.
func Untrained(t testing.TB, name string, seed uint64) (experiment.Experiment, family.Family, *state.State) {
	t.Helper()
	e, err := experiment.Load(name, "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	f, err := e.Family()
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), seed)
	st.Normalisation = shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: 1}}
	return e, f, st
}

// Subjects are the first n functions of a family with that seed.
func Subjects(t testing.TB, f family.Family, seed uint64, n int) (all []flow.Subject) {
	t.Helper()
	for i := range n {
		made, err := f.Function(seed, i)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, flow.Subject{Index: i, Function: made})
	}
	return all
}
