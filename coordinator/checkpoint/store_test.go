package checkpoint

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/random"
	"go.etcd.io/bbolt"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if mode := os.Getenv(childMode); mode != "" {
		child(mode)
		return
	}
	goleak.VerifyTestMain(m)
}

func newStore(t testing.TB) *Store {
	t.Helper()
	s, err := Open(filepath.Join(t.TempDir(), "checkpoints.db"), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// payload is size bytes that depend on the step, the last few zero.
func payload(step, size int) []byte {
	data := make([]byte, size)
	r := random.New(1, "checkpoint/test", uint64(step))
	for i := 0; i+8 <= size; i += 8 {
		binary.LittleEndian.PutUint64(data[i:], r.Uint64())
	}
	return data
}

func save(t testing.TB, s *Store, run string, step int, loss float64, data []byte) Info {
	t.Helper()
	info, err := s.Save(Info{Run: run, Experiment: "vn1d/smoke", Generation: 3,
		Step: ergoflow.Step(step), Loss: Loss(loss), Size: int64(len(data))}, data)
	if err != nil {
		t.Fatal(err)
	}
	return info
}

// chunkCount is how many chunks the file holds.
func chunkCount(t *testing.T, s *Store) (n int) {
	t.Helper()
	err := s.db.View(func(tx *bbolt.Tx) error {
		n = tx.Bucket(bucketChunks).Stats().KeyN
		if m := tx.Bucket(bucketIndex).Stats().KeyN; m != n {
			t.Errorf("%d chunks, %d in the index", n, m)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestReadsWhatWasSaved(t *testing.T) {
	s := newStore(t)
	for step, size := range []int{1, 100, chunkSize - 1, chunkSize, chunkSize + 1, 5*chunkSize + 17} {
		data := payload(step, size)
		saved := save(t, s, "run", step, 0.5, data)
		for _, id := range []string{saved.ID, Latest, saved.ID[:len(saved.ID)-3]} {
			info, got, err := s.Read(id)
			if err != nil || !bytes.Equal(got, data) || info != saved {
				t.Fatalf("size %d, read %q: %d bytes, %+v, %v", size, id, len(got), info, err)
			}
		}
	}
	if err := s.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	path := s.Path()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := Open(path, true)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	if all, err := again.List(); err != nil || len(all) != 6 || all[5].Step != 5 {
		t.Errorf("after reopening: %v, %v", all, err)
	}
}

func TestNames(t *testing.T) {
	s := newStore(t)
	if _, err := s.Get(Latest); !errors.Is(err, ErrNotFound) {
		t.Errorf("latest of none: %v", err)
	}
	save(t, s, "abc", 1, 1, payload(1, 10))
	save(t, s, "abc", 2, 1, payload(2, 10))
	save(t, s, "xyz", 1, 1, payload(3, 10))
	if _, err := s.Get("abc"); !errors.Is(err, ErrAmbiguous) {
		t.Errorf("abc: %v", err)
	}
	if _, err := s.Get(""); !errors.Is(err, ErrNotFound) {
		t.Errorf("no name: %v", err)
	}
	if info, err := s.Get("xyz"); err != nil || info.Run != "xyz" {
		t.Errorf("xyz: %+v, %v", info, err)
	}
	if info, err := s.Get(Latest); err != nil || info.Run != "xyz" {
		t.Errorf("latest: %+v, %v", info, err)
	}
	// The run does not continue from a late upload of an earlier generation.
	if _, err := s.Save(Info{Run: "xyz", Experiment: "vn1d/smoke", Generation: 2, Step: 9, Size: 10}, payload(4, 10)); err != nil {
		t.Fatal(err)
	}
	if info, err := s.Get(Latest); err != nil || info.Generation != 3 || info.Step != 1 {
		t.Errorf("latest after a late upload: %+v, %v", info, err)
	}
	if run, err := s.Run("abc"); err != nil || len(run) != 2 || run[0].Step != 2 {
		t.Errorf("run abc: %v, %v", run, err)
	}
}

// Equal chunks are stored once, and go with the last checkpoint that has them.
func TestChunksAreSharedAndCounted(t *testing.T) {
	s := newStore(t)
	first := payload(1, 4*chunkSize)
	second := append(append([]byte(nil), first[:3*chunkSize]...), payload(2, chunkSize)...)
	a := save(t, s, "r", 1, 1, first)
	b := save(t, s, "r", 2, 1, second)
	same := save(t, s, "r", 2, 1, second)
	if n := chunkCount(t, s); n != 5 || same != b {
		t.Errorf("%d chunks, want 5; saved again as %+v", n, same)
	}
	if err := s.Delete(a.ID); err != nil {
		t.Fatal(err)
	}
	if _, got, err := s.Read(b.ID); err != nil || !bytes.Equal(got, second) || chunkCount(t, s) != 4 {
		t.Errorf("after deleting the other: %v, %d chunks", err, chunkCount(t, s))
	}
	if err := s.Delete(b.ID); err != nil || chunkCount(t, s) != 0 {
		t.Errorf("after deleting both: %v, %d chunks", err, chunkCount(t, s))
	}
	// Zeros repeat within one checkpoint.
	save(t, s, "r", 3, 1, make([]byte, 8*chunkSize))
	if n := chunkCount(t, s); n != 1 {
		t.Errorf("zeros take %d chunks", n)
	}
}

func TestPruneKeepsLastAndBest(t *testing.T) {
	s := newStore(t)
	for step, loss := range []float64{0.9, 0.1, 0.5, math.NaN(), 0.7, 0.6} {
		save(t, s, "r", step, loss, payload(step, 1000))
	}
	save(t, s, "other", 0, 1, payload(100, 1000))
	deleted, err := s.Prune(2, 1)
	if err != nil || len(deleted) != 3 {
		t.Fatalf("deleted %v, %v", deleted, err)
	}
	var left []string
	all, err := s.List()
	if err != nil {
		t.Fatal(err)
	}
	for _, i := range all {
		left = append(left, i.Run+"/"+string('0'+rune(i.Step)))
	}
	if got := strings.Join(left, " "); got != "r/1 r/4 r/5 other/0" {
		t.Errorf("left: %s", got)
	}
	if _, err := s.Prune(0, 0); err != nil {
		t.Fatal(err)
	}
	if run, err := s.Run("r"); err != nil || len(run) != 1 || run[0].Step != 5 {
		t.Errorf("the latest must stay: %v, %v", run, err)
	}
}

func TestRefusedSaves(t *testing.T) {
	s := newStore(t)
	data := payload(1, 1000)
	good := Info{Run: "r", Size: 1000}
	for name, c := range map[string]struct {
		info Info
		data []byte
		want error
	}{
		"too short": {good, data[:999], ErrMismatch},
		"too long":  {Info{Run: "r", Size: 999}, data, ErrMismatch},
		"hash":      {Info{Run: "r", Size: 1000, SHA256: strings.Repeat("0", 64)}, data, ErrMismatch},
		"empty":     {Info{Run: "r"}, nil, ErrMismatch},
		"huge":      {Info{Run: "r", Size: MaxSize + 1}, data, ErrMismatch},
		"no run":    {Info{Size: 1000}, data, ErrMismatch},
	} {
		if _, err := s.Save(c.info, c.data); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	if all, err := s.List(); err != nil || len(all) != 0 {
		t.Errorf("left behind: %v, %v", all, err)
	}
}

func TestLockedAndMissing(t *testing.T) {
	s := newStore(t)
	for _, readOnly := range []bool{true, false} {
		if _, err := Open(s.Path(), readOnly); !errors.Is(err, ErrLocked) {
			t.Errorf("read only %v: %v", readOnly, err)
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none.db"), true); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
}

func TestSnapshotIsAStore(t *testing.T) {
	s := newStore(t)
	want := payload(7, 3*chunkSize)
	save(t, s, "r", 7, 1, want)
	path := filepath.Join(t.TempDir(), "copy.db")
	var copied bytes.Buffer
	if err := s.Snapshot(&copied); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, copied.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	c, err := OpenCopy(path, s.Path())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, got, err := c.Read(Latest); err != nil || !bytes.Equal(got, want) {
		t.Errorf("copy: %d bytes, %v", len(got), err)
	}
	if _, _, err := c.Read("nosuch"); err == nil || !strings.Contains(err.Error(), s.Path()) {
		t.Errorf("the error does not name the store: %v", err)
	}
}

// A reader that does not read, such as a stalled client, does not stop saves.
func TestStalledSnapshotBlocksNothing(t *testing.T) {
	s := newStore(t)
	save(t, s, "r", 0, 1, payload(0, 10*chunkSize))
	reader, writer := io.Pipe()
	done := make(chan error, 1)
	go func() { done <- s.Snapshot(writer) }()
	if _, err := reader.Read(make([]byte, 1)); err != nil { // it has begun
		t.Fatal(err)
	}
	for step := 1; step <= 8; step++ {
		save(t, s, "r", step, 1, payload(step, 40*chunkSize)) // 40 MiB: any smaller map would have to grow
	}
	if err := reader.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err == nil {
		t.Error("the snapshot to a closed pipe has no error")
	}
}

func TestLossThatIsNotFinite(t *testing.T) {
	for _, l := range []float64{math.NaN(), math.Inf(1)} {
		b, err := json.Marshal(Info{Loss: Loss(l)})
		var back Info
		if err != nil || !strings.Contains(string(b), `"loss":null`) || json.Unmarshal(b, &back) != nil || !math.IsNaN(float64(back.Loss)) {
			t.Errorf("%v: %s, %v, %v", l, b, err, back.Loss)
		}
	}
}

// BenchmarkSave measures one vn1d checkpoint: 940,928 parameters, three float32
// vectors, 11.3 MB, kept twice.
func BenchmarkSave(b *testing.B) {
	s := newStore(b)
	data := payload(1, 3*4*940_928)
	b.SetBytes(int64(len(data)))
	for step := 0; b.Loop(); step++ {
		for c := 0; c < len(data); c += 1000 {
			data[c]++
		}
		save(b, s, "r", step, 1, data)
		if _, err := s.Prune(2, 0); err != nil {
			b.Fatal(err)
		}
	}
}
