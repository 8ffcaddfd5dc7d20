package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// The families of docs/families.md train: that of the line until it has learned, those of
// the plane in the document's experiment.
func TestDocumentedFamiliesTrain(t *testing.T) {
	text, err := os.ReadFile("../../docs/families.md")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	write := func(name, content string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	neuron := ""
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		switch {
		case strings.Contains(block, "mixture:"): // TestMixtureTrains
			continue
		case !strings.Contains(block, "drift:"):
			neuron = block
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "name: "), "\n")
		write(name+".yaml", block)
	}
	line := "data.family=" + filepath.Join(dir, "double_well.yaml")
	t.Run("line", func(t *testing.T) { learns(t, "--set", line, "--set", "training.epochs=30") })
	langevin := strings.NewReplacer("fitzhugh_nagumo", "langevin", "[32, 32, 1]", "[32, 32, 2]").Replace(neuron)
	for name, configuration := range map[string]string{"neuron": neuron, "langevin": langevin} {
		t.Run(name, func(t *testing.T) {
			run := t.TempDir()
			cmd, out := program(t.Context(), t, "train", "vn1d", "--preset", "smoke", "--backend", "go", "--local", "--workers", "1", "--dir", run,
				"--set", "training.steps=4", "--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50",
				"--config", write(name+"_experiment.yaml", configuration))
			if err := cmd.Run(); err != nil {
				t.Fatalf("%v\n%s%s", err, out, logs(run))
			}
			if s := final(t, run); s.Step != 4 {
				t.Errorf("the last checkpoint has step %d", s.Step)
			}
		})
	}
}

// learns runs an experiment on the line. Its model must come out far nearer to the exact
// laws than with the inputs of other equations.
func learns(t *testing.T, args ...string) {
	dir := t.TempDir()
	cmd, out := program(t.Context(), t, append([]string{"run", "vn1d", "--preset", "smoke", "--workers", "1", "--dir", dir}, args...)...)
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s%s", err, out, logs(dir))
	}
	raw, err := os.ReadFile(filepath.Join(dir, "report", "results.json"))
	if err != nil {
		t.Fatal(err)
	}
	var results evaluate.Results
	if err := json.Unmarshal(raw, &results); err != nil {
		t.Fatal(err)
	}
	exact := map[string]float64{}
	for _, row := range results.Rows {
		exact[row.Name] = row.Summary.W2Exact.Mean
	}
	if model, shuffled := exact["model"], exact["shuffled sensors"]; !(model < shuffled/3) {
		t.Errorf("W2 to the exact law is %g, and %g with the inputs of another equation", model, shuffled)
	}
}
