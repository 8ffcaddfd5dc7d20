package evaluate

import (
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
)

const (
	small = `{"name":"small","dim":2,"box":[-1,1],"drift":"-8*x","diffusion":"1"}`
	wide  = `{"name":"wide","dim":2,"box":[-9,9],"parameters":{"a":"uniform(1, 2)"},"drift":"-a*x","diffusion":"5"}`
	mixed = `{"name":"mixed","dim":2,"mixture":[{"family":` + small + `,"weight":1},{"family":` + wide + `,"weight":1}]}`
)

// ofMixture evaluates the initial state of a network for a mixture.
func ofMixture(t *testing.T, b *backend.Backend) Options {
	t.Helper()
	e, err := experiment.Load("anyd", "smoke", "", []string{"data.family='" + mixed + "'", "evaluation.samples=128", "data.reference_samples=128", "data.reference.chains=128",
		"data.held_out=12", "evaluation.functions=12"})
	if err != nil {
		t.Fatal(err)
	}
	st := state.Fresh(e.Velocity().Layout(), e.Seed)
	st.Normalisation = shard.Normalisation{shard.State(0): {Std: 100}, shard.State(1): {Std: 100}}
	for _, input := range e.Velocity().Inputs() {
		for k := range input.Shape[len(input.Shape)-1] {
			st.Normalisation[input.Name+"["+string(rune('0'+k))+"]"] = shard.Standard{Std: 1}
		}
	}
	return Options{Experiment: e, State: st, Backend: b, Store: shard.NewDir(t.TempDir()), Simulator: simulate.Fastest(), Kinds: []Kind{Floor, Model}}
}

// The evaluation of a mixture has every row by component too, and says what it is a mixture of.
func TestRowsByComponent(t *testing.T) {
	r, _, err := Run(t.Context(), ofMixture(t, backendtest.Fast(t)))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Rows {
		sums, counts := map[string]float64{}, map[string]int{}
		for _, f := range row.Functions {
			sums[f.Component] += f.SlicedW2
			counts[f.Component]++
		}
		if len(row.Components) != 2 || counts["small"]+counts["wide"] != 12 {
			t.Fatalf("%s: %+v, functions %v", row.Name, row.Components, counts)
		}
		for k, name := range []string{"small", "wide"} {
			c := row.Components[k]
			if mean := sums[name] / float64(counts[name]); c.Name != name || c.Functions != counts[name] || math.Abs(c.SlicedW2.Mean-mean) > 1e-12*mean {
				t.Errorf("%s: %+v, want the mean %g of %d functions", row.Name, c, mean, counts[name])
			}
		}
		if !(row.Components[1].SlicedW2.Mean > 2*row.Components[0].SlicedW2.Mean) {
			t.Errorf("%s: laws that are ten times as wide have distances %+v", row.Name, row.Components)
		}
	}
	table := r.Table().Markdown()
	for _, want := range []string{"mean by component (functions) small (", "a mixture of small (weight 1), wide (weight 1)"} {
		if !strings.Contains(table, want) {
			t.Errorf("no %q in %s", want, table)
		}
	}
	if strings.Contains(table, "-8*x") {
		t.Errorf("the definitions are in the notes: %s", table)
	}
}

// On a family that was chosen for the evaluation, distances are in units of the held-out samples
// instead of those of the training, and the table says what the network was trained on.
func TestAnotherFamily(t *testing.T) {
	o := ofMixture(t, backendtest.Fast(t))
	var err error
	o.TrainedOn = o.Experiment.Data.Family
	if o.Experiment, err = o.Experiment.Transferred(wide, "."); err != nil {
		t.Fatal(err)
	}
	r, _, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	// σ²/2a for a in [1, 2] is between 6.25 and 12.5.
	if u := r.Units[0]; !(u > 2.5 && u < 3.6) {
		t.Errorf("units %v", r.Units)
	}
	if floor := r.Rows[0].Summary.SlicedW2.Mean; !(floor > 0.05 && floor < 0.5) {
		t.Errorf("the floor is %g deviations", floor)
	}
	table := r.Table().Markdown()
	if !strings.Contains(table, "trained on another family, mixed_") || !strings.Contains(table, "held-out samples' standard deviation") || r.Rows[0].Components != nil {
		t.Error(table)
	}
}
