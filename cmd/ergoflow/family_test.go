package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What docs/families.md says can be done: its families are written to files, and
// its experiment, with one of them, and the line's, with the other, are trained.
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
	configuration := ""
	for _, block := range strings.Split(string(text), "```yaml\n")[1:] {
		block, _, _ = strings.Cut(block, "```")
		if !strings.Contains(block, "drift:") {
			configuration = write("neuron.yaml", block)
			continue
		}
		name, _, _ := strings.Cut(strings.TrimPrefix(block, "name: "), "\n")
		write(name+".yaml", block)
	}
	for _, args := range [][]string{
		{"--config", configuration},
		{"--set", "data.family=" + filepath.Join(dir, "double_well.yaml")},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		run := t.TempDir()
		cmd, out := program(ctx, t, append([]string{
			"train", "vn1d", "--preset", "smoke", "--backend", "go", "--local", "--workers", "1", "--dir", run,
			"--set", "training.steps=4", "--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50",
		}, args...)...)
		if err := cmd.Run(); err != nil {
			t.Fatalf("%v: %v\n%s%s", args, err, out, logs(run))
		}
		if s := final(t, run); s.Step != 4 {
			t.Errorf("%v: the last checkpoint has step %d", args, s.Step)
		}
	}
}
