package family

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A definition in a file and one in place give the same line, which finds the family. Names
// stay as they are.
func TestResolve(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "well.yaml"), []byte(doubleWell), 0o644); err != nil {
		t.Fatal(err)
	}
	want := defined(t, doubleWell).Name()
	for _, reference := range []string{"well.yaml", filepath.Join(dir, "well.yaml"), doubleWell} {
		line, err := Resolve(reference, dir)
		if err != nil {
			t.Fatal(err)
		}
		again, err := Resolve(line, "elsewhere")
		if err != nil || again != line || strings.Contains(line, "\n") {
			t.Errorf("%q, then %q, error %v", line, again, err)
		}
		f, err := ByName(line)
		if err != nil || f.Name() != want {
			t.Errorf("%s is %v, error %v", line, f, err)
		}
	}
	conditional := strings.Replace(doubleWell, "1 + 0.2*cos(x)", `'x < 0 && x >= -1 ? 1 : 1.5 + 0.1*sin(x)'`, 1)
	for _, text := range []string{doubleWell, vortex, conditional, doubleWell} {
		line, err := Resolve(text, dir)
		if err != nil {
			t.Fatal(err)
		}
		if f, err := ByName(line); err != nil || f.Name() != defined(t, text).Name() {
			t.Errorf("%s is %v, error %v", line, f, err)
		}
	}
	if line, err := Resolve("vn1d", dir); err != nil || line != "vn1d" {
		t.Errorf("a name becomes %q, error %v", line, err)
	}
	for reference, want := range map[string]string{
		"ill.yaml":         "no such file",
		"name: a\ndim: 7":  "dim is 7",
		`{"name": "a"`:     "family: ",
		`{"name": "a", "}`: "family: ",
	} {
		if _, err := Resolve(reference, dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", reference, err)
		}
	}
	if _, err := ByName(`{"name": "a"}`); err == nil || !strings.Contains(err.Error(), "dim is 0") {
		t.Errorf("half a definition: %v", err)
	}
}
