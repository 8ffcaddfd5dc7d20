package retraining

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/registry"
)

// What the registry warns of is in the outcome.
func TestOutcomeHasWarningsOfTheRegistry(t *testing.T) {
	dir := t.TempDir()
	r := &run{Options: Options{Config: Config{Name: "vn1d"}}}
	var err error
	if r.registry, err = registry.Open(dir); err != nil {
		t.Fatal(err)
	}
	lock := func() {
		t.Helper()
		lease, err := r.registry.Lock(t.Context(), "vn1d", registry.Self("test"), registry.Skip)
		if err != nil {
			t.Fatal(err)
		}
		if err := lease.Release(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	lock()
	path := filepath.Join(dir, "registry.db")
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	content[32] ^= 1 // in the first meta record
	if err := os.WriteFile(path, content, 0o644); err != nil {
		t.Fatal(err)
	}
	lock()
	if w := r.outcome(Skipped).Warnings; len(w) != 1 || !strings.Contains(w[0], "meta records is damaged") {
		t.Errorf("warnings %q", w)
	}
}
