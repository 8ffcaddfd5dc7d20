package imports

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// python runs a script in a directory with a Python that has numpy and safetensors: $PYTHON,
// or python3.
func python(t *testing.T, dir string, args ...string) {
	t.Helper()
	program := cmp.Or(os.Getenv("PYTHON"), "python3")
	if err := exec.CommandContext(t.Context(), program, "-c", "import numpy, safetensors").Run(); err != nil {
		t.Skipf("%s has no numpy or no safetensors: %v", program, err)
	}
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// The golden files are what the script writes.
func TestPythonWritesGolden(t *testing.T) {
	script, err := filepath.Abs("testdata/make_golden.py")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	python(t, dir, script, dir)
	files, err := filepath.Glob("testdata/*/*")
	if err != nil || len(files) != 10 {
		t.Fatal(files, err)
	}
	for _, path := range files {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(filepath.Join(dir, strings.TrimPrefix(path, "testdata/"))); err != nil || string(got) != string(want) {
			t.Errorf("%s is not what the script writes (%v)", path, err)
		}
	}
}

// The example of docs/formats.md is imported without a warning.
func TestPythonExample(t *testing.T) {
	doc, err := os.ReadFile("../../docs/formats.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(doc), "## Imports")
	_, example, _ := strings.Cut(section, "```python\n")
	example, _, ok := strings.Cut(example, "```")
	if !ok {
		t.Fatal("docs/formats.md has no example")
	}
	dir := t.TempDir()
	python(t, dir, "-c", example)
	r := one(t, collect(t, shard.NewDir(t.TempDir()), dir, specOf(t, "vn1d", 512)))
	if r.Functions != 2 || r.Samples != 512 || r.Warnings != nil {
		t.Errorf("%+v", r)
	}
}
