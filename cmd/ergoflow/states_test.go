package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
)

// A directory may have the states of several runs, and an @ in its name.
func TestReadState(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a@b")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	e := saveAccount(t, dir, 0, 1)
	for _, name := range []string{dir, dir + "@latest", dir + "@" + e.Hash()[:8]} {
		if _, st, err := readState(t.Context(), name); err != nil || st.Step != 2 {
			t.Errorf("%s: error %v", name, err)
		}
	}

	store, err := checkpoint.Open(coordinator.CheckpointPath(dir), false)
	if err != nil {
		t.Fatal(err)
	}
	other := checkpoint.Info{Run: "0123456789abcdef", Experiment: "rare1d/smoke", Step: 3, Size: 5}
	if _, err := store.Save(other, []byte("other")); err != nil {
		t.Fatal(err)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	if _, st, err := readStateOf(t.Context(), dir, e.Hash()); err != nil || st.Step != 2 || st.Run != e.Hash() {
		t.Errorf("the run's own: error %v", err)
	}
	if _, _, err := readState(t.Context(), dir); err == nil {
		t.Error("the latest is the other run's")
	}
}
