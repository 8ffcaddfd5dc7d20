package experiment

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// The file of a family's definition is relative to the configuration. The definition becomes
// part of the experiment, which does not need the file afterwards.
func TestWrittenFamily(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"well.yaml":       "name: well\ndim: 1\ngrid: {lo: -4, hi: 4, nodes: 64}\nparameters:\n  a: uniform(0, 1)\ndrift: a - x\ndiffusion: 1\n",
		"experiment.yaml": "data:\n  family: well.yaml\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	e, err := Load("vn1d", "smoke", filepath.Join(dir, "experiment.yaml"), nil)
	if err != nil {
		t.Fatal(err)
	}
	set, err := Load("vn1d", "smoke", "", []string{"data.family=" + filepath.Join(dir, "well.yaml")})
	if err != nil || set.Hash() != e.Hash() {
		t.Errorf("by --set: %q, error %v, want %q", set.Data.Family, err, e.Data.Family)
	}
	plain, err := ByName("vn1d", "smoke")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "well.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := e.Validate(); err != nil || e.Hash() == plain.Hash() || e.Data.Hash() == plain.Data.Hash() {
		t.Errorf("without the file: %v", err)
	}
	if _, err := Load("vn1d", "smoke", filepath.Join(dir, "experiment.yaml"), nil); !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "data.family: ") {
		t.Errorf("a file that is not there: %v", err)
	}
}

// A definition's states are standardised, for it may have any unit. A named family keeps raw
// states, and so do configurations of older builds, which did not say.
func TestStates(t *testing.T) {
	const well = `data.family='{name: well, dim: 1, grid: {lo: -4, hi: 4, nodes: 64}, parameters: {a: "uniform(0, 1)"}, drift: a - x, diffusion: 1}'`
	load := func(sets ...string) Experiment {
		t.Helper()
		e, err := Load("vn1d", "smoke", "", sets)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	if got := load().Training.States; got != "" {
		t.Errorf("a named family: %q", got)
	}
	standardised, raw := load(well), load(well, "training.states=raw")
	if got := standardised.Training.States; got != flow.Standardised {
		t.Errorf("a definition: %q", got)
	}
	old := raw
	old.Training.States = ""
	if raw.Hash() != old.Hash() || raw.Hash() == standardised.Hash() {
		t.Errorf("hashes: raw %s, of an older build %s, standardised %s", raw.Hash(), old.Hash(), standardised.Hash())
	}
	config, err := json.Marshal(old)
	if err != nil {
		t.Fatal(err)
	}
	if read, err := Parse(config); err != nil || read.Training.States != "" {
		t.Errorf("an older checkpoint's configuration: %q, error %v", read.Training.States, err)
	}
	if _, err := Load("vn1d", "smoke", "", []string{"training.states=centred"}); err == nil || !strings.Contains(err.Error(), "training.states") {
		t.Errorf("unknown states: %v", err)
	}
}

// The network of anyd has the dimension and the features of the family, chains start in its box, and
// its samples are standardised. Other experiments refuse such a family, and anyd one with a grid.
func TestFamilyWithoutGrid(t *testing.T) {
	for name, want := range map[string]struct {
		dimension, features int
		start               string
	}{
		"lorenz63":           {3, 15, "uniform(-12.5, 12.5); uniform(-15, 15); uniform(13.75, 41.25)"},
		"lorenz96":           {40, 120, "uniform(-3.75, 8.75)"},
		"ornstein_uhlenbeck": {10, 120, "uniform(-1.5, 1.5)"},
		"duffing":            {2, 8, "uniform("},
		"cox_ingersoll_ross": {3, 15, "uniform(0.9, 2.3)"},
		"kuramoto":           {6, 48, "uniform(-1.57, 1.57)"},
		"sediment":           {2, 8, "uniform(-1.57, 1.57); uniform(1, 3)"},
		"planar":             {2, 8, string(simulate.InBox)},
	} {
		family := "data.family=../../docs/families/" + name + ".yaml"
		e, err := Load("anyd", "smoke", "", []string{family})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if s := e.Model.Sensor; s.Dimension != want.dimension || s.Features != want.features {
			t.Errorf("%s: %d dimensions, %d features, want %+v", name, s.Dimension, s.Features, want)
		}
		if e.Training.States != flow.Whitened || !strings.HasPrefix(string(e.Data.Training.Start), want.start) || e.Data.Training.Start != e.Evaluation.MCMC[0].Scheme.Start {
			t.Errorf("%s: states %s, start %s, of the row %s", name, e.Training.States, e.Data.Training.Start, e.Evaluation.MCMC[0].Scheme.Start)
		}
		ends := strings.HasPrefix(name, "c") || name == "kuramoto" || name == "sediment"
		if _, err := Load("anyd", "smoke", "", []string{family, "training.states=standardised"}); (err != nil) != ends || ends && !strings.Contains(err.Error(), "whose domain has ends") {
			t.Errorf("%s with standardised states: %v", name, err)
		}
		if _, err := Load("vn1d", "smoke", "", []string{family}); err == nil || !strings.Contains(err.Error(), "name the experiment anyd") {
			t.Errorf("vn1d of %s: %v", name, err)
		}
	}
	grid := `data.family='{name: well, dim: 1, grid: {lo: -4, hi: 4, nodes: 64}, drift: -x, diffusion: 1}'`
	if _, err := Load("anyd", "smoke", "", []string{grid}); err == nil || !strings.Contains(err.Error(), "has no box") {
		t.Errorf("anyd of a family with a grid: %v", err)
	}
	matrix := `data.family='{name: full, dim: 20, box: [-3, 3], parameters: {A: "matrix(normal(0, 1))"}, drift: -x, diffusion: A}'`
	if _, err := Load("anyd", "smoke", "", []string{matrix}); err == nil || !strings.Contains(err.Error(), "256") {
		t.Errorf("a full matrix of 20 dimensions: %v", err)
	}
}
