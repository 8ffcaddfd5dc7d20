package experiment

import (
	"encoding/json"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Another integrator is another data set. The default has the hash of data sets that are older than the choice.
func TestIntegratorEntersHashes(t *testing.T) {
	base, err := Load("anyd", "smoke", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for set, want := range map[string]simulate.Integrator{
		"data.training.integrator=euler":  simulate.Euler,
		"data.training.integrator=heun":   simulate.Heun,
		"data.reference.integrator=euler": simulate.Euler,
		"data.reference.integrator=tamed": simulate.Tamed,
	} {
		e, err := Load("anyd", "smoke", "", []string{set})
		if err != nil {
			t.Fatal(err)
		}
		if got := max(e.Data.Training.Integrator, e.Data.Reference.Integrator); got != want {
			t.Errorf("%s: read as %v", set, got)
		}
		same := want == simulate.Euler
		if (e.Data.Hash() == base.Data.Hash()) != same || (e.Hash() == base.Hash()) != same {
			t.Errorf("%s: hashes %s and %s, those of the default are %s and %s", set, e.Data.Hash(), e.Hash(), base.Data.Hash(), base.Hash())
		}
		raw, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		var again Experiment
		if err := json.Unmarshal(raw, &again); err != nil || again.Hash() != e.Hash() {
			t.Errorf("%s: read again with hash %s, %v", set, again.Hash(), err)
		}
	}
}
