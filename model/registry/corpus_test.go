package registry

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/data/store/storetest"
	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Registries that each release has written, in a directory and in a bucket, and exported versions
// are read, and can be changed.
func TestCorpus(t *testing.T) {
	registries := func(dir string) map[string]*Registry {
		if err := os.MkdirAll(filepath.Join(dir, "bucket"), 0o755); err != nil {
			t.Fatal(err)
		}
		return map[string]*Registry{
			"directory": open(t, filepath.Join(dir, "directory")),
			"bucket":    replica(t, storetest.NewDir(filepath.Join(dir, "bucket"))),
		}
	}
	corpus.Check(t, "registry",
		func(dir string) {
			for name, r := range registries(dir) {
				first := add(t, r, "m", 1)
				second := add(t, r, "m", 2)
				for _, v := range []Version{first, second} {
					if err := r.Promote(t.Context(), Promotion{Model: "m", Number: v.Number, By: "ada", Reasons: []string{"better"}}); err != nil {
						t.Fatal(err)
					}
				}
				if err := r.Tag(t.Context(), "m", 1, map[string]string{"use": "talk"}); err != nil {
					t.Fatal(err)
				}
				if name == "directory" {
					if err := r.Export(t.Context(), second, filepath.Join(dir, "export")); err != nil {
						t.Fatal(err)
					}
				}
			}
		},
		func(dir string) any {
			read := make(map[string]any)
			for name, r := range registries(dir) {
				if found := verified(t, r); found.Versions != 2 {
					t.Errorf("%s: %+v", name, found)
				}
				var versions []Version
				for _, ref := range []string{"m@1", "m@champion"} {
					v, err := r.Get(t.Context(), ref)
					if err != nil {
						t.Fatal(err)
					}
					if _, err := r.Load(t.Context(), v); err != nil {
						t.Error(err)
					}
					versions = append(versions, v)
				}
				history, err := r.History(t.Context(), "m", "")
				if err != nil {
					t.Fatal(err)
				}
				read[name] = map[string]any{"versions": versions, "history": history}
				if v := add(t, r, "m", 3); v.Number != 3 {
					t.Errorf("%s: the next version is %d", name, v.Number)
				}
			}
			imported, err := open(t, filepath.Join(t.TempDir(), "new")).Import(t.Context(), filepath.Join(dir, "export"), "n", "ada")
			if err != nil {
				t.Fatal(err)
			}
			read["export"] = map[string]any{"weights": imported.Weights, "metrics": imported.Metrics, "reasons": imported.Reasons}
			return read
		})
}
