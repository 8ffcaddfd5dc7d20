package corpus

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A document that says more is fine; one that says less or something else is not.
func TestLacks(t *testing.T) {
	parse := func(text string) (v any) {
		if err := decode([]byte(text), &v); err != nil {
			t.Fatal(err)
		}
		return v
	}
	want := parse(`{"a": {"b": [1, {"c": 2}]}, "d": null, "big": 18446744073709551615}`)
	for got, lacks := range map[string]string{
		`{"a": {"b": [1, {"c": 2}]}, "big": 18446744073709551615}`:                                 "",
		`{"a": {"b": [1, {"c": 2, "new": 1}], "more": 1}, "d": null, "big": 18446744073709551615}`: "",
		`{"a": {"b": [1, {"x": 2}]}, "big": 18446744073709551615}`:                                 "/a/b/1/c is missing",
		`{"a": {"b": [1, {"c": 3}]}, "big": 18446744073709551615}`:                                 "/a/b/1/c is 3, and was 2",
		`{"a": {"b": [1]}, "big": 18446744073709551615}`:                                           "/a/b is [1]",
		`{"a": {"b": [1, {"c": 2}]}, "d": 0, "big": 18446744073709551615}`:                         "/d is 0",
		`{"a": {"b": [1, {"c": 2}]}, "big": 18446744073709551614}`:                                 "/big is",
		`[]`: " is []",
	} {
		found := strings.Join(Lacks("", want, parse(got)), "\n")
		if (found == "") != (lacks == "") || !strings.Contains(found, lacks) {
			t.Errorf("%s: %q, want %q", got, found, lacks)
		}
	}
}

// What is packed comes out again, and names that leave the directory do not.
func TestPack(t *testing.T) {
	from, to := t.TempDir(), t.TempDir()
	for name, content := range map[string]string{"x": "1", "d/y": ""} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(from, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(from, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	packed := filepath.Join(t.TempDir(), "p")
	if err := pack(packed, from); err != nil {
		t.Fatal(err)
	}
	if err := unpack(packed, to); err != nil {
		t.Fatal(err)
	}
	x, errX := os.ReadFile(filepath.Join(to, "x"))
	y, errY := os.ReadFile(filepath.Join(to, "d", "y"))
	if string(x) != "1" || string(y) != "" || errX != nil || errY != nil {
		t.Errorf("%q %v, %q %v", x, errX, y, errY)
	}
}

// Every golden has its file, and all are small.
func TestSmall(t *testing.T) {
	const limit = 300 << 10 // bytes of a release
	sizes := map[string]int64{}
	err := filepath.WalkDir("testdata/releases", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		sizes[strings.Split(path, string(filepath.Separator))[2]] += info.Size()
		if base, ok := strings.CutSuffix(path, ".json"); ok {
			text, err := os.ReadFile(path)
			if err != nil || !json.Valid(text) {
				t.Errorf("%s is no JSON: %v", path, err)
			}
			_, err = os.Stat(base + ".tar.gz")
			return err
		}
		return nil
	})
	if err != nil || len(sizes) == 0 {
		t.Fatalf("%d releases: %v", len(sizes), err)
	}
	for release, size := range sizes {
		if size > limit {
			t.Errorf("release %s has %d bytes, more than %d", release, size, limit)
		}
	}
}
