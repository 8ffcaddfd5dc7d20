package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/state"
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

// An import needs a seal, and the normalisation of all inputs of its network.
func TestImportRefuses(t *testing.T) {
	dir := t.TempDir()
	saveAccount(t, dir, 0, 1)
	stored, err := readStored(t.Context(), dir, checkpoint.Latest)
	if err != nil {
		t.Fatal(err)
	}
	_, st, err := experiment.DecodeState(stored)
	if err != nil {
		t.Fatal(err)
	}
	delete(st.Normalisation, "diffusion")
	lacking, err := st.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if lacking, err = state.Seal(lacking); err != nil {
		t.Fatal(err)
	}
	for word, export := range map[string][]byte{
		"no SHA-256": stored,
		`the normalisation lacks the input "diffusion"`: lacking,
	} {
		file, to := filepath.Join(dir, "export.safetensors"), filepath.Join(dir, "a", "b")
		if err := os.WriteFile(file, export, 0o644); err != nil {
			t.Fatal(err)
		}
		cmd, out := program(t.Context(), t, "checkpoints", "import", file, "--dir", to)
		refused(t, cmd, out, exitFailure, "export.safetensors: not a valid training state", word)
		if _, err := os.Stat(filepath.Dir(to)); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s: something was made: %v", word, err)
		}
	}
}

// A checkpoint that cannot be saved leaves no new files.
func TestPutFails(t *testing.T) {
	dir := t.TempDir()
	for _, to := range []string{dir, filepath.Join(dir, "a", "b")} {
		if _, _, err := put(to, checkpoint.Info{}, []byte("no run")); !errors.Is(err, checkpoint.ErrMismatch) {
			t.Errorf("error %v", err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
			t.Errorf("left are %v, error %v", entries, err)
		}
	}
	saveAccount(t, dir, 0)
	if _, _, err := put(dir, checkpoint.Info{}, []byte("no run")); !errors.Is(err, checkpoint.ErrMismatch) {
		t.Errorf("error %v", err)
	}
	if _, err := readStored(t.Context(), dir, checkpoint.Latest); err != nil {
		t.Errorf("what was there before: %v", err)
	}
}
