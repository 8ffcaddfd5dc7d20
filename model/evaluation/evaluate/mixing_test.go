package evaluate

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// Of three functions in the plane, one has chains that differ in the second coordinate.
func TestMixing(t *testing.T) {
	const chains, draws, dim = 16, 64, 2
	rng := rand.New(rand.NewPCG(1, 2))
	samples := make([][]float32, 3)
	for i := range samples {
		samples[i] = make([]float32, chains*draws*dim)
		for k := range samples[i] {
			samples[i][k] = float32(rng.NormFloat64())
			if i == 1 && k%dim == 1 && k < len(samples[i])/2 {
				samples[i][k] += 4
			}
		}
	}
	none := make([]*observables.Observed, len(samples))
	mixingOf := func(observed []*observables.Observed, chains int) *Mixing {
		all, err := diagnose(t.Context(), samples, observed, chains, dim)
		if err != nil {
			t.Fatal(err)
		}
		return mixing(all)
	}
	m := mixingOf(none, chains)
	if m == nil || m.Unmixed != 1 || !(m.RHat > 1.5) || !(m.ESS > 800) || !(m.LeastESS < 100) {
		t.Fatalf("%+v", m)
	}
	if note := m.note("the reference", 3, chains*draws); !strings.Contains(note, "1 of 3 functions have not mixed") {
		t.Error(note)
	}
	if m = mixingOf(none, chains*draws/2); m != nil {
		t.Errorf("two samples a chain: %+v", m)
	}
	for k := range samples[2] { // the first coordinate does not move, and differs between chains
		samples[2][k] = float32(k / (draws * dim) * (1 - k%dim))
	}
	m = mixingOf(none, chains)
	if m.RHat != math.MaxFloat64 || m.Unmixed != 2 || !strings.Contains(m.note("x", 3, 1), "∞") {
		t.Errorf("chains that do not move: %+v", m)
	}
	if _, err := json.Marshal(m); err != nil {
		t.Error(err)
	}
	// The energies of particles decide, not their coordinates.
	energies := make([]float32, chains*draws)
	for i := range energies {
		energies[i] = float32(rng.NormFloat64())
	}
	particles := []*observables.Observed{{Energies: energies}, {Energies: energies}, {Energies: energies}}
	if m = mixingOf(particles, chains); m.Unmixed != 0 {
		t.Errorf("particles: %+v", m)
	}
}

// Evaluations tell of the chains that they compare, where there are any.
func TestMixingOfRows(t *testing.T) {
	b := backendtest.Fast(t)
	for name, want := range map[string]struct{ reference, mcmc bool }{
		"vn1d": {true, true}, "rare1d": {false, true}, "vn1d_time": {false, false},
	} {
		o := smoke(t, b, name)
		o.Kinds = []Kind{MCMC}
		r, _, err := Run(context.Background(), o)
		if err != nil {
			t.Fatal(err)
		}
		row, _ := r.Row(MCMC)
		if (r.ReferenceMixing != nil) != want.reference || (row.Mixing != nil) != want.mcmc {
			t.Errorf("%s: reference %+v, MCMC %+v", name, r.ReferenceMixing, row.Mixing)
		}
		if notes := strings.Join(r.Table().Notes, "\n"); strings.Contains(notes, "R-hat") != (want.reference || want.mcmc) {
			t.Errorf("%s: notes %s", name, notes)
		}
	}
	o := smoke(t, b, "vn1d")
	o.Kinds, o.Experiment.Data.ReferenceDraws = []Kind{MCMC}, data.Exact
	if r, _, err := Run(context.Background(), o); err != nil || r.ReferenceMixing != nil {
		t.Errorf("exact draws: %+v, error %v", r.ReferenceMixing, err)
	}
}
