package registry

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

func numbers(all []Version) (n []int) {
	for _, v := range all {
		n = append(n, v.Number)
	}
	return n
}

// Prune keeps what aliases, a rollback and pins need, and the newest. Its dry run says the
// same and removes nothing.
func TestPrune(t *testing.T) {
	r := open(t, t.TempDir())
	if _, err := r.Prune(t.Context(), 1, false); !errors.Is(err, ErrNoRegistry) {
		t.Errorf("without a registry: %v", err)
	}
	for seed := range 8 {
		add(t, r, "vn1d", seed)
	}
	for _, n := range []int{1, 2, 4} {
		if err := r.Promote(t.Context(), Promotion{Model: "vn1d", Number: n}); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(r.Pin(t.Context(), "vn1d", 5, true), r.SetAlias(t.Context(), "vn1d", 6, "mine", "me")); err != nil {
		t.Fatal(err)
	}
	twin := example("vn1d", 1)
	twin.Key = "" // version 9 has the weights of version 2
	if _, err := r.Add(t.Context(), twin, weights(t, 1)); err != nil {
		t.Fatal(err)
	}
	for name, old := range map[string]bool{".killed1": true, ".running2": false} {
		path := filepath.Join(r.weightsDir(), name)
		if err := os.WriteFile(path, make([]byte, 10), 0o644); err != nil {
			t.Fatal(err)
		}
		if then := time.Now().Add(-48 * time.Hour); old {
			if err := os.Chtimes(path, then, then); err != nil {
				t.Fatal(err)
			}
		}
	}
	want := []int{1, 3, 7}
	for _, dryRun := range []bool{true, false} {
		removed, err := r.Prune(t.Context(), 2, dryRun)
		if err != nil || !slices.Equal(numbers(removed.Versions), want) || len(removed.Files) != 4 || removed.Bytes < 10 {
			t.Errorf("dry run %v: error %v, versions %v, files %v", dryRun, err, numbers(removed.Versions), removed.Files)
		}
	}
	left, err := r.List(t.Context(), "vn1d")
	if err != nil || !slices.Equal(numbers(left), []int{2, 4, 5, 6, 8, 9}) {
		t.Errorf("error %v, left %v", err, numbers(left))
	}
	if found := verified(t, r); found.Weights != 5 || len(found.LeftOver) > 0 {
		t.Errorf("%+v", found)
	}
	if e, err := r.Rollback(t.Context(), "vn1d", "", ""); err != nil || e.Version != 2 {
		t.Errorf("%+v, %v", e, err)
	}
	if _, err := r.Rollback(t.Context(), "vn1d", "", ""); !errors.Is(err, ErrNoPrevious) { // version 1 was pruned
		t.Errorf("%v", err)
	}
	if v := add(t, r, "vn1d", 0); v.Number != 10 { // its key went with version 1, whose number is used up
		t.Errorf("%+v", v)
	}
	if _, err := r.Prune(t.Context(), 0, false); !errors.Is(err, ErrInvalid) {
		t.Errorf("%v", err)
	}
}
