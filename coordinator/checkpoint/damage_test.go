package checkpoint

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// damaged writes a store with three checkpoints and returns its bytes, and
// those of the checkpoints by ID.
func damaged(t *testing.T) (file []byte, want map[string][]byte) {
	t.Helper()
	s := newStore(t)
	want = make(map[string][]byte)
	for step := range 3 {
		data := payload(step, 2*chunkSize+100)
		want[save(t, s, "r", step, 1, data).ID] = data
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	return file, want
}

// survey opens a damaged file and reads all checkpoints that it lists. Each must come back
// right, or as an error.
func survey(t *testing.T, file []byte, want map[string][]byte) (read int, err error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, true)
	if err != nil {
		return 0, err
	}
	defer s.Close()
	all, err := s.List()
	if err != nil {
		return 0, err
	}
	var errs []error
	for _, info := range all {
		_, data, err := s.Read(info.ID)
		if err != nil {
			errs = append(errs, err)
		} else if expected, ok := want[info.ID]; ok && !bytes.Equal(data, expected) {
			t.Errorf("checkpoint %s came back wrong without an error", info.ID)
		} else {
			read++
		}
	}
	return read, errors.Join(errs...)
}

func TestFlippedChunkIsNamed(t *testing.T) {
	file, want := damaged(t)
	for id, data := range want {
		// Pages that were freed hold copies too: all are damaged.
		piece := data[chunkSize+5000 : chunkSize+5100]
		if !bytes.Contains(file, piece) {
			t.Fatal("the chunk is not in the file")
		}
		bad := bytes.ReplaceAll(file, piece, append([]byte{piece[0] ^ 1}, piece[1:]...))
		read, err := survey(t, bad, want)
		if !errors.Is(err, ErrCorrupt) || read != 2 || !strings.Contains(err.Error(), id+": chunk 2 of 3") {
			t.Errorf("read %d, error %v", read, err)
		}
	}
}

// Saving a damaged checkpoint again, or another with the same chunk, repairs it.
func TestSavingAgainMends(t *testing.T) {
	file, want := damaged(t)
	piece := want["r-000001-"+hashOf(want, 1)][5000:5100]
	bad := bytes.ReplaceAll(file, piece, append([]byte{piece[0] ^ 1}, piece[1:]...))
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, bad, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if err := s.Verify(t.Context()); !errors.Is(err, ErrCorrupt) {
		t.Fatalf("before: %v", err)
	}
	chunks := chunkCount(t, s)
	save(t, s, "r", 1, 1, payload(1, 2*chunkSize+100))
	if err := s.Verify(t.Context()); err != nil || chunkCount(t, s) != chunks {
		t.Errorf("after: %v, %d chunks of %d", err, chunkCount(t, s), chunks)
	}
	for id := range want {
		if err := s.Delete(id); err != nil {
			t.Fatal(err)
		}
	}
	if n := chunkCount(t, s); n != 0 {
		t.Errorf("%d chunks are left", n)
	}
}

// hashOf is the end of the ID of a step's checkpoint.
func hashOf(want map[string][]byte, step int) string {
	for id := range want {
		if suffix, ok := strings.CutPrefix(id, "r-00000"+string('0'+rune(step))+"-"); ok {
			return suffix
		}
	}
	return ""
}

// A description that cannot be read affects its own checkpoint alone: the others are
// listed, read, saved and pruned, and Verify names it.
func TestDamagedDescription(t *testing.T) {
	file, want := damaged(t)
	broken := bytes.ReplaceAll(file, []byte(`"step":1,`), []byte(`"step":x,`))
	if bytes.Equal(file, broken) {
		t.Fatal("nothing is damaged")
	}
	path := filepath.Join(t.TempDir(), "damaged.db")
	if err := os.WriteFile(path, broken, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(path, false)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	all, err := s.Run("r")
	if err != nil || len(all) != 2 || all[0].Step != 2 || all[1].Step != 0 {
		t.Fatalf("listed %v, %v", all, err)
	}
	for _, info := range all {
		if _, data, err := s.Read(info.ID); err != nil || !bytes.Equal(data, want[info.ID]) {
			t.Errorf("step %d: %v", info.Step, err)
		}
	}
	save(t, s, "r", 3, 0, payload(3, 100))
	if gone, err := s.Prune(1, 0); err != nil || len(gone) != 2 {
		t.Errorf("pruned %v, %v", gone, err)
	}
	if err := s.Verify(t.Context()); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "description") {
		t.Errorf("verified: %v", err)
	}
}

func TestCutOffFile(t *testing.T) {
	file, want := damaged(t)
	for _, length := range []int{1, 100, 4095, 4096, 8192, 20_000, 100_000, 300_000} {
		if _, err := survey(t, file[:length], want); !errors.Is(err, ErrCorrupt) {
			t.Errorf("%d of %d bytes: %v", length, len(file), err)
		}
	}
	if _, err := survey(t, bytes.Repeat([]byte("no store at all "), 4096), want); !errors.Is(err, ErrCorrupt) {
		t.Errorf("another file: %v", err)
	}
}

// Random damage to the pages that hold the tree: an error or the right bytes,
// never a panic, never wrong bytes.
func TestRandomDamage(t *testing.T) {
	file, want := damaged(t)
	const page = 4096
	refused := 0
	for seed := range uint64(60) {
		r := random.New(seed, "checkpoint/damage")
		bad := bytes.Clone(file)
		switch seed % 3 {
		case 0: // header and table of some page
			at := r.IntN(len(bad)/page)*page + r.IntN(64)
			bad[at] ^= byte(1 + r.IntN(255))
		case 1: // anywhere
			for range 20 {
				bad[r.IntN(len(bad))] ^= byte(1 + r.IntN(255))
			}
		case 2: // a page overwritten with another
			from, to := r.IntN(len(bad)/page), r.IntN(len(bad)/page)
			copy(bad[to*page:(to+1)*page], file[from*page:])
		}
		if read, err := survey(t, bad, want); err != nil {
			refused++
		} else if read > 3 {
			t.Errorf("seed %d: read %d checkpoints", seed, read)
		}
	}
	if refused < 6 {
		t.Errorf("only %d of 60 damages were noticed", refused)
	}
}

// The file is cut off while it is open: the map faults, which must be an error.
func TestFileCutOffWhileOpen(t *testing.T) {
	s := newStore(t)
	save(t, s, "r", 1, 1, payload(1, 20*chunkSize))
	if err := os.Truncate(s.Path(), 8192); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Read(Latest); !errors.Is(err, ErrCorrupt) {
		t.Errorf("error %v", err)
	}
}

// An empty file was a store before: opening it does not make it a new one.
func TestEmptyFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoints.db")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, readOnly := range []bool{true, false} {
		if _, err := Open(path, readOnly); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "it is empty") {
			t.Errorf("read only %t: error %v", readOnly, err)
		}
	}
	if info, err := os.Stat(path); err != nil || info.Size() != 0 {
		t.Errorf("the file has become %+v, error %v", info, err)
	}
}

// A new store appears with its content or not at all, and leaves no other file.
func TestNewFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "checkpoints.db")
	for range 2 {
		s, err := Open(path, false)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 {
			t.Errorf("the directory has %v, error %v", entries, err)
		}
	}
	if _, err := Open(filepath.Join(dir, "none", "checkpoints.db"), false); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("without a directory: %v", err)
	}
}
