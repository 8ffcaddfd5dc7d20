package registry

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// An exported version comes back into another registry as it was, but for its place.
func TestExportImport(t *testing.T) {
	r := open(t, t.TempDir())
	add(t, r, "vn1d", 1)
	v := add(t, r, "vn1d", 2)
	dir := filepath.Join(t.TempDir(), "a", "export")
	if err := r.Export(t.Context(), v, dir); err != nil {
		t.Fatal(err)
	}
	if err := r.Export(t.Context(), v, dir); !errors.Is(err, ErrExists) {
		t.Errorf("again: %v", err)
	}
	if again, err := r.Import(t.Context(), dir, "", "me"); err != nil || again.Number != v.Number {
		t.Errorf("into the same registry: %+v, %v", again, err)
	}
	other := open(t, t.TempDir())
	for range 2 {
		got, err := other.Import(t.Context(), dir, "mine", "me")
		want := v
		want.Model, want.Number, want.Origin, want.By, want.Created, want.Parent = "mine", 1, "vn1d@2", "me", got.Created, 0
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("error %v\n%+v, want\n%+v", err, got, want)
		}
	}
	if found := verified(t, other); found.Versions != 1 {
		t.Errorf("%+v", found)
	}
	card, err := os.ReadFile(filepath.Join(dir, CardFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"# vn1d, version 2", "`vn1d/smoke`", "64 equations", "| w2 | 0.03333 | 0.01667 … 0.06667 (95 %) | 32 |", "better in w2", "## Limits", "Seed of data: 9223372036854775808"} {
		if !strings.Contains(string(card), word) {
			t.Errorf("the card lacks %q:\n%s", word, card)
		}
	}
}

func TestImportRefuses(t *testing.T) {
	r := open(t, t.TempDir())
	v := add(t, r, "vn1d", 1)
	for name, test := range map[string]struct {
		damage func(t *testing.T, dir string)
		want   error
	}{
		"no directory":  {func(t *testing.T, dir string) { remove(t, dir) }, ErrCorrupt},
		"no weights":    {func(t *testing.T, dir string) { remove(t, filepath.Join(dir, WeightsFile)) }, ErrCorrupt},
		"other weights": {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, WeightsFile), 3000) }, ErrCorrupt},
		"no JSON":       {func(t *testing.T, dir string) { flip(t, filepath.Join(dir, VersionFile), 0) }, ErrCorrupt},
		"newer": {func(t *testing.T, dir string) {
			path := filepath.Join(dir, VersionFile)
			content, err := os.ReadFile(path)
			if err == nil {
				err = os.WriteFile(path, []byte(strings.Replace(string(content), `"format": 1`, `"format": 2`, 1)), 0o644)
			}
			if err != nil {
				t.Fatal(err)
			}
		}, ErrFormat},
	} {
		dir := filepath.Join(t.TempDir(), "export")
		if err := r.Export(t.Context(), v, dir); err != nil {
			t.Fatal(err)
		}
		test.damage(t, dir)
		if _, err := open(t, t.TempDir()).Import(t.Context(), dir, "", ""); !errors.Is(err, test.want) || !errors.Is(err, ErrExport) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}

// The program of the card runs, with numpy and safetensors alone.
func TestCardInPython(t *testing.T) {
	python := os.Getenv("ERGOFLOW_TEST_PYTHON")
	if python == "" {
		python = "python3"
	}
	if err := exec.CommandContext(t.Context(), python, "-c", "import numpy, safetensors").Run(); err != nil {
		t.Skip("no python3 with numpy and safetensors; ERGOFLOW_TEST_PYTHON names one")
	}
	r := open(t, t.TempDir())
	dir := filepath.Join(t.TempDir(), "export")
	if err := r.Export(t.Context(), add(t, r, "vn1d", 1), dir); err != nil {
		t.Fatal(err)
	}
	card, err := os.ReadFile(filepath.Join(dir, CardFile))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(string(card), "```python\n")
	program, _, _ = strings.Cut(program, "```")
	cmd := exec.CommandContext(t.Context(), python, "-c", program+"\nprint(config['name'], normalisation['drift']['std'], parameters['a.weight'].shape)")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil || string(out) != "vn1d 2 (40, 30)\n" {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestDiff(t *testing.T) {
	r := open(t, t.TempDir())
	a, b := add(t, r, "vn1d", 1), example("vn1d", 2)
	b.Config = []byte(`{"name":"vn1d","preset":"demo","data":{"family":"vn1d"}}`)
	b, err := r.Add(t.Context(), b, weights(t, 1))
	if err != nil {
		t.Fatal(err)
	}
	differences, err := Diff(a, b)
	var text []string
	for _, d := range differences {
		text = append(text, d.Field+" "+string(d.A)+" "+string(d.B))
	}
	want := "config.data.functions 64 null|config.preset \"smoke\" \"demo\"|metrics.w2.high 0.1 0.06666666666666667|metrics.w2.low 0.025 0.016666666666666666|" +
		"metrics.w2.value 0.05 0.03333333333333333|seeds.training 1 2|step 1 2"
	if err != nil || strings.Join(text, "|") != want {
		t.Errorf("error %v\n%s, want\n%s", err, strings.Join(text, "|"), want)
	}
	if same, err := Diff(a, a); err != nil || len(same) > 0 {
		t.Errorf("%v, %v", same, err)
	}
}
