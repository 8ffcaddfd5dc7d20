package checkpoint

import (
	"bytes"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// A bit that flips is found by Open or Verify, or said by Warning, or changes nothing of
// what the store lists and reads. All bits of the two meta records are tried, and others
// drawn by a seed.
func TestFlippedBit(t *testing.T) {
	s := newStore(t)
	want := make(map[string][]byte)
	for step := range 4 {
		data := payload(step, 1500)
		want[save(t, s, "r", step, 1/float64(1+step), data).ID] = data
	}
	if gone, err := s.Prune(2, 1); err != nil || len(gone) != 2 {
		t.Fatalf("pruned %v, %v", gone, err)
	}
	list, err := s.List()
	if err != nil || s.Verify(t.Context()) != nil || s.Warning() != "" {
		t.Fatalf("before: %v, %v, %q", err, s.Verify(t.Context()), s.Warning())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	file, err := os.ReadFile(s.Path())
	if err != nil {
		t.Fatal(err)
	}
	file = bytes.TrimRight(file, "\x00")
	var bits []int
	for page := range 2 {
		for i := range 8 * 80 { // the page's header and the record
			bits = append(bits, 8*4096*page+i)
		}
	}
	r := random.New(1, "checkpoint/flip")
	for range 3000 {
		bits = append(bits, r.IntN(8*len(file)))
	}
	counts := map[string]int{}
	for _, bit := range bits {
		counts[flipped(t, s.Path(), bit, list, want)]++
	}
	t.Logf("of %d flips in %d bytes: %v", len(bits), len(file), counts)
	// Each of the records has 64 bytes.
	if counts["warned"] < 2*64*8 || counts["found"] < 100 {
		t.Errorf("too few are noticed: %v", counts)
	}
}

// flipped flips a bit of the file, says what became of it, and flips it back.
func flipped(t *testing.T, path string, bit int, list []Info, want map[string][]byte) string {
	t.Helper()
	flip(t, path, bit)
	defer flip(t, path, bit)
	s, err := Open(path, true)
	if err != nil {
		return "found"
	}
	defer s.Close()
	if warning := s.Warning(); warning != "" {
		if !strings.Contains(warning, path) || !strings.Contains(warning, "newest change may be missing") {
			t.Errorf("warning %q", warning)
		}
		return "warned"
	}
	if s.Verify(t.Context()) != nil {
		return "found"
	}
	got, err := s.List()
	if err != nil || !reflect.DeepEqual(got, list) {
		t.Errorf("bit %d: listed %v, %v", bit, got, err)
	}
	for _, info := range list {
		if _, data, err := s.Read(info.ID); err != nil || !bytes.Equal(data, want[info.ID]) {
			t.Errorf("bit %d: %s is another, %v", bit, info.ID, err)
		}
	}
	return "harmless"
}

func flip(t *testing.T, path string, bit int) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var b [1]byte
	if _, err := f.ReadAt(b[:], int64(bit/8)); err != nil {
		t.Fatal(err)
	}
	b[0] ^= 1 << (bit % 8)
	if _, err := f.WriteAt(b[:], int64(bit/8)); err != nil {
		t.Fatal(err)
	}
}
