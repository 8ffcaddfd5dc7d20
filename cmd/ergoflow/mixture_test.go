package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// A network that is trained on a mixture is evaluated on the mixture, by component, and on a family
// that it has not seen, and another run begins from it there.
func TestMixtureTrains(t *testing.T) {
	small := []string{
		"--preset", "smoke", "--backend", "go", "--set", "training.steps=2", "--set", "data.training.burn_in=200", "--set", "data.reference.burn_in=200",
		"--set", "evaluation.samples=64", "--set", "data.reference_samples=64", "--set", "data.reference.chains=64", "--set", "data.held_out_from=500",
	}
	run := func(args ...string) string {
		cmd, out := program(t.Context(), t, append(args, small...)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		return out.String()
	}
	const families = "../../docs/families/"
	general, tuned := t.TempDir(), t.TempDir()
	mixture := []string{"--set", "data.family=" + families + "planar.yaml", "--dir", general}
	run(append([]string{"train", "anyd", "--local", "--workers", "1"}, mixture...)...)
	if out := run(append([]string{"evaluate", "anyd"}, mixture...)...); !strings.Contains(out, "a mixture of duffing (weight 1), van_der_pol") || !strings.Contains(out, "mean by component") {
		t.Error(out)
	}
	out := run(append([]string{"evaluate", "anyd", "--family", families + "neuron.yaml"}, mixture...)...)
	if !strings.Contains(out, "trained on another family, planar_") {
		t.Error(out)
	}
	found, err := filepath.Glob(filepath.Join(general, "report-neuron_*", "results.json"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	raw, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	var results evaluate.Results
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatal(err)
	}
	if row, ok := results.Row(evaluate.Model); !ok || row.Functions[0].Index != 500 || row.Functions[0].Component != "" || results.TrainedOn == "" {
		t.Errorf("trained on %q, row %+v", results.TrainedOn, row)
	}
	run("train", "anyd", "--local", "--workers", "1", "--set", "data.family="+families+"neuron.yaml", "--set", "data.functions=64", "--start", general, "--dir", tuned)
	if s := final(t, tuned); s.Step != 2 {
		t.Errorf("the last checkpoint has step %d", s.Step)
	}
	cmd, shown := program(t.Context(), t, append(append([]string{"evaluate", "anyd", "--family", families + "lorenz63.yaml"}, mixture...), small...)...)
	if err := cmd.Run(); err == nil || cmd.ProcessState.ExitCode() != 2 || !strings.Contains(shown.String(), "cannot be evaluated on this family") || !strings.Contains(shown.String(), "same dimension") {
		t.Errorf("a family of three dimensions: %v\n%s", err, shown)
	}
}
