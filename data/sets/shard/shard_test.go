package shard

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

const dataset = "00112233445566778899aabbccddeeff"

var header = Header{
	Family: "vn1d", Dataset: dataset, Shard: 7, Purpose: Train, First: 21, Count: 3, Dim: 1,
	Fields: []Field{{"drift", []int{4}}, {"diffusion", []int{4}}}, Samples: 5,
}

// values of tensor t: distinct, some negative.
func values(t, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(t*100+i) / 8
		if t != 1 && i%3 == 0 {
			v[i] = -v[i]
		}
	}
	return v
}

func write(t *testing.T, d *Dir, h Header) Manifest {
	t.Helper()
	w, err := d.Create(h)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	fill(t, w, h)
	m, err := w.Commit()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func fill(t *testing.T, w *Writer, h Header) {
	t.Helper()
	var err error
	for k, f := range h.Fields {
		err = errors.Join(err, w.Field(k, values(k, h.Count*f.Size())))
	}
	size, last := h.Samples*h.Dim, len(h.Fields)
	if err := errors.Join(err,
		w.Samples(values(last, size)), // in pieces, too
		w.Samples(values(last, h.Count*size)[size:]),
	); err != nil {
		t.Fatal(err)
	}
}

// files lists the store's files, temporary ones included.
func files(t *testing.T, d *Dir) []string {
	t.Helper()
	var all []string
	err := filepath.WalkDir(d.Root(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			all = append(all, filepath.Base(path))
		}
		return err
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return all
}

func TestRoundTrip(t *testing.T) {
	d := NewDir(filepath.Join(t.TempDir(), "store"))
	if d.Has(dataset, 7) {
		t.Error("an empty store has the shard")
	}
	for name, err := range map[string]error{
		"Open": func() error { _, err := d.Open(dataset, 7); return err }(), "Verify": d.Verify(t.Context(), dataset, 7),
	} {
		if !errors.Is(err, ErrNotFound) {
			t.Errorf("%s: error %v, want ErrNotFound", name, err)
		}
	}
	m := write(t, d, header)
	if !d.Has(dataset, 7) || d.Has(dataset, 6) {
		t.Error("Has is wrong")
	}
	ended, end := context.WithCancel(t.Context())
	end()
	if err := d.Verify(ended, dataset, 7); !errors.Is(err, context.Canceled) {
		t.Errorf("Verify without time: error %v", err)
	}
	if err := d.Verify(t.Context(), dataset, 7); err != nil {
		t.Error(err)
	}
	if got := files(t, d); !slices.Equal(got, []string{"shard-00007.json", "shard-00007.safetensors"}) {
		t.Errorf("files %v", got)
	}
	content, err := os.ReadFile(filepath.Join(d.Root(), "vn1d-"+dataset, "shard-00007.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	if sum := sha256.Sum256(content); hex.EncodeToString(sum[:]) != m.SHA256 || int64(len(content)) != m.Bytes {
		t.Errorf("manifest %+v for %d bytes with SHA-256 %x", m, len(content), sum)
	}

	s, err := d.Open(dataset, 7)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(s.Manifest(), m) || m.Count != 3 {
		t.Errorf("manifest %+v, want %+v", s.Manifest(), m)
	}
	for i := range 3 {
		for k := range 2 {
			if got, want := s.Field(k, i), values(k, 12)[i*4:i*4+4]; !slices.Equal(got, want) {
				t.Errorf("field %d of %d: %v, want %v", k, i, got, want)
			}
		}
		if got, want := s.Samples(i), values(2, 15)[i*5:i*5+5]; !slices.Equal(got, want) {
			t.Errorf("samples %d: %v, want %v", i, got, want)
		}
	}
	if n := testing.AllocsPerRun(10, func() { _ = s.Samples(1) }); n != 0 {
		t.Errorf("reading copies: %v allocations", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}

	other := header
	other.Shard, other.Purpose, other.First = 8, Reference, 24
	write(t, d, other)
	manifests, err := d.List()
	if err != nil || len(manifests) != 2 || !reflect.DeepEqual(manifests[0], m) || !reflect.DeepEqual(manifests[1].Header, other) {
		t.Errorf("List: %+v, %v", manifests, err)
	}
}

// One bad manifest does not hide the others, nor the next bad one.
func TestListBesideDamage(t *testing.T) {
	d := NewDir(t.TempDir())
	for k := range 4 {
		h := header
		h.Shard = k
		write(t, d, h)
	}
	for _, k := range []string{"0", "2"} {
		path := filepath.Join(d.Root(), "vn1d-"+dataset, "shard-0000"+k+".json")
		if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	all, err := d.List()
	if len(all) != 2 || all[0].Shard != 1 || all[1].Shard != 3 {
		t.Errorf("List: %+v", all)
	}
	if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), "shard-00000.json") || !strings.Contains(err.Error(), "shard-00002.json") {
		t.Errorf("error %v, want ErrCorrupt and both paths", err)
	}
}

// Shards of other families: a field with several axes and samples of two
// numbers, and no fields at all.
func TestShapes(t *testing.T) {
	for name, change := range map[string]func(*Header){
		"plane":     func(h *Header) { h.Dim, h.Fields = 2, []Field{{"drift", []int{3, 4, 2}}} },
		"no fields": func(h *Header) { h.Dim, h.Fields = 6, []Field{} },
	} {
		d, h := NewDir(t.TempDir()), header
		change(&h)
		m := write(t, d, h)
		if err := d.Verify(t.Context(), dataset, 7); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		s, err := d.Open(dataset, 7)
		if err != nil {
			t.Fatal(err)
		}
		for i := range h.Count {
			for k, f := range h.Fields {
				if got := s.Field(k, i); !slices.Equal(got, values(k, h.Count*f.Size())[i*f.Size():(i+1)*f.Size()]) {
					t.Errorf("%s: field %d of %d is %v", name, k, i, got)
				}
			}
			size := h.Samples * h.Dim
			if got := s.Samples(i); !slices.Equal(got, values(len(h.Fields), h.Count*size)[i*size:(i+1)*size]) {
				t.Errorf("%s: samples %d are %v", name, i, got)
			}
		}
		if got := s.Manifest(); !reflect.DeepEqual(got, m) || len(got.Moments) != len(h.Fields) {
			t.Errorf("%s: manifest %+v, want %+v", name, got, m)
		}
		if n, err := Normalise([]Manifest{m}); err != nil || len(n) != len(h.Fields) {
			t.Errorf("%s: normalisation %v, %v", name, n, err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A shard of another version is refused with a remedy, and counts as
// missing.
func TestAnotherFormat(t *testing.T) {
	d := NewDir(t.TempDir())
	write(t, d, header)
	path := filepath.Join(d.Root(), "vn1d-"+dataset, "shard-00007.json")
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b = bytes.Replace(b, []byte(`"format": 2`), []byte(`"format": 1`), 1)
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(dataset, 7); err == nil || !strings.Contains(err.Error(), "a shard of format 1, this program reads format 2") || !strings.Contains(err.Error(), "generate again") {
		t.Errorf("error %v", err)
	}
	if d.Has(dataset, 7) {
		t.Error("it counts as there")
	}
}

// The file's bytes are part of the format: hashes of data sets in use refer to
// them.
func TestGolden(t *testing.T) {
	const want = "f2cbfa6b76d58ad12f59c9e5d7d1b33bd58be20492a6a3575027e68e5a68afb0"
	if m := write(t, NewDir(t.TempDir()), header); m.SHA256 != want {
		t.Errorf("SHA-256 %s, want %s", m.SHA256, want)
	}
}

func TestDamageIsFound(t *testing.T) {
	change := func(before, after string) func([]byte) []byte {
		return func(b []byte) []byte { return bytes.Replace(b, []byte(before), []byte(after), 1) }
	}
	for _, c := range []struct {
		name, file string
		damage     func([]byte) []byte
		opens      bool // only Verify notices
	}{
		{"truncated data", ".safetensors", func(b []byte) []byte { return b[:len(b)-1] }, false},
		{"data grown", ".safetensors", func(b []byte) []byte { return append(b, 0) }, false},
		{"a Git LFS pointer", ".safetensors", func([]byte) []byte { return []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n") }, false},
		{"a Git LFS pointer as manifest", ".json", func([]byte) []byte { return []byte("version https://git-lfs.github.com/spec/v1\noid sha256:0\n") }, false},
		{"no data", ".safetensors", func([]byte) []byte { return nil }, false},
		{"bit flipped in the data", ".safetensors", func(b []byte) []byte { b[len(b)-3] ^= 1; return b }, true},
		{"header length", ".safetensors", func(b []byte) []byte { b[0] ^= 1; return b }, false},
		{"another shape", ".safetensors", change("[3,5,1]", "[5,3,1]"), false},
		{"another name", ".safetensors", change(`"drift"`, `"drifs"`), false},
		{"another type", ".safetensors", change("F32", "I32"), false},
		{"another shard's data", ".safetensors", change(`"first":"21"`, `"first":"22"`), false},
		{"empty manifest", ".json", func([]byte) []byte { return []byte{} }, false},
		{"truncated manifest", ".json", func(b []byte) []byte { return b[:len(b)/2] }, false},
		{"huge manifest", ".json", func(b []byte) []byte { return append(b, make([]byte, MaxManifest)...) }, false},
		{"no moments of a field", ".json", change(`"drift": {`, `"drifs": {`), false},
		{"manifest of another shard", ".json", change(`"shard": 7`, `"shard": 6`), false},
		{"manifest of another data set", ".json", change(dataset, strings.Repeat("00", 16)), false},
		{"negative count", ".json", change(`"count": 3`, `"count": -3`), false},
		{"another count", ".json", change(`"count": 3`, `"count": 2`), false},
		{"no checksum", ".json", change(`"sha256": "`, `"sha256": "x`), false},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDir(t.TempDir())
			write(t, d, header)
			path := filepath.Join(d.Root(), "vn1d-"+dataset, "shard-00007"+c.file)
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			damaged := c.damage(slices.Clone(b))
			if bytes.Equal(b, damaged) {
				t.Fatal("nothing was damaged")
			}
			if damaged == nil {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, damaged, 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			if has := d.Has(dataset, 7); has != c.opens {
				t.Errorf("Has is %v", has)
			}
			s, err := d.Open(dataset, 7)
			if c.opens {
				if err != nil {
					t.Fatal(err)
				}
				s.Close()
			} else if !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), path[:len(path)-len(c.file)]) {
				t.Errorf("Open: error %v, want ErrCorrupt and the path", err)
			}
			if strings.Contains(c.name, "LFS") != errors.Is(err, gitlfs.ErrPointer) {
				t.Errorf("Open: error %v", err)
			}
			if err := d.Verify(t.Context(), dataset, 7); !errors.Is(err, ErrCorrupt) {
				t.Errorf("Verify: error %v, want ErrCorrupt", err)
			}
			write(t, d, header) // repairs it
			if err := d.Verify(t.Context(), dataset, 7); err != nil {
				t.Errorf("written again: %v", err)
			}
		})
	}
}

// A shard that is not finished is not there, and leaves nothing behind.
func TestUnfinishedLeavesNothing(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		name, want string
		spoil      func(*Writer) error
	}{
		{"samples missing", "not written", func(w *Writer) error {
			return errors.Join(w.Field(0, values(0, 12)), w.Field(1, values(1, 12)))
		}},
		{"wrong order", "before tensor 0", func(w *Writer) error { return w.Field(1, values(1, 12)) }},
		{"unknown field", "field 2 of 2", func(w *Writer) error { return w.Field(2, values(1, 12)) }},
		{"too much", "too many", func(w *Writer) error { return w.Field(0, values(0, 13)) }},
		{"NaN drift", "function 22: drift is NaN at index 1", func(w *Writer) error {
			return w.Field(0, []float32{0, 0, 0, 0, 0, nan})
		}},
		{"infinite diffusion", "function 21: diffusion is +Inf at index 0", func(w *Writer) error {
			return errors.Join(w.Field(0, values(0, 12)), w.Field(1, []float32{float32(math.Inf(1))}))
		}},
		{"NaN sample", "function 23: samples is NaN at index 4", func(w *Writer) error {
			return errors.Join(w.Field(0, values(0, 12)), w.Field(1, values(1, 12)), w.Samples(values(2, 14)), w.Samples([]float32{nan}))
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := NewDir(t.TempDir())
			w, err := d.Create(header)
			if err != nil {
				t.Fatal(err)
			}
			if err = c.spoil(w); err == nil {
				_, err = w.Commit()
			}
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q", err, c.want)
			}
			w.Abort()
			if _, err := w.Commit(); err == nil {
				t.Error("committed after Abort")
			}
			if left := files(t, d); len(left) > 0 || d.Has(dataset, 7) {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

// A redelivered job writes the same shard at the same time.
func TestConcurrentWriters(t *testing.T) {
	d := NewDir(t.TempDir())
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			for range 3 {
				w, err := d.Create(header)
				if err != nil {
					t.Error(err)
					return
				}
				if err := errors.Join(w.Field(0, values(0, 12)), w.Field(1, values(1, 12)), w.Samples(values(2, 15))); err != nil {
					t.Error(err)
				}
				if _, err := w.Commit(); err != nil {
					t.Error(err)
				}
				if err := d.Verify(t.Context(), dataset, 7); err != nil {
					t.Error(err)
				}
			}
		})
	}
	group.Wait()
	if left := files(t, d); len(left) != 2 {
		t.Errorf("files %v", left)
	}
}

// A writer removes the files of killed writers, but not the file of a
// live writer or of another shard.
func TestAbandonedFilesAreRemoved(t *testing.T) {
	d := NewDir(t.TempDir())
	dir := filepath.Join(d.Root(), "vn1d-"+dataset)
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandoned)
	for name, stale := range map[string]bool{
		".shard-00007.json1": true, ".shard-00007.safetensors2": false, ".shard-00008.safetensors3": true,
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		if stale {
			if err := os.Chtimes(path, old, old); err != nil {
				t.Fatal(err)
			}
		}
	}
	write(t, d, header)
	want := []string{".shard-00007.safetensors2", ".shard-00008.safetensors3", "shard-00007.json", "shard-00007.safetensors"}
	if got := files(t, d); !slices.Equal(got, want) {
		t.Errorf("files %v, want %v", got, want)
	}
	if all, err := d.List(); err != nil || len(all) != 1 {
		t.Errorf("List: %v, %v", all, err)
	}
}

// Names and shapes from a job cannot leave the store or exhaust memory.
func TestBadHeaders(t *testing.T) {
	d := NewDir(t.TempDir())
	for name, change := range map[string]func(*Header){
		"path in the hash":   func(h *Header) { h.Dataset = "../../../../00112233" },
		"upper-case hash":    func(h *Header) { h.Dataset = strings.ToUpper(dataset) },
		"short hash":         func(h *Header) { h.Dataset = "00" },
		"no hash":            func(h *Header) { h.Dataset = "" },
		"path in the family": func(h *Header) { h.Family = "../vn1d" },
		"no family":          func(h *Header) { h.Family = "" },
		"purpose":            func(h *Header) { h.Purpose = "test" },
		"negative shard":     func(h *Header) { h.Shard = -1 },
		"no functions":       func(h *Header) { h.Count = 0 },
		"no dimension":       func(h *Header) { h.Dim = 0 },
		"unnamed field":      func(h *Header) { h.Fields = []Field{{"", []int{4}}} },
		"path in a field":    func(h *Header) { h.Fields = []Field{{"a/b", []int{4}}} },
		"field twice":        func(h *Header) { h.Fields = []Field{{"drift", []int{4}}, {"drift", []int{4}}} },
		"field samples":      func(h *Header) { h.Fields = []Field{{"samples", []int{4}}} },
		"field of no axes":   func(h *Header) { h.Fields = []Field{{"drift", nil}} },
		"empty field":        func(h *Header) { h.Fields = []Field{{"drift", []int{4, 0}}} },
		"huge field":         func(h *Header) { h.Fields = []Field{{"drift", []int{1 << 40, 1 << 40}}} },
		"many fields":        func(h *Header) { h.Fields = make([]Field, 1000) },
		"no samples":         func(h *Header) { h.Samples = 0 },
		"huge":               func(h *Header) { h.Samples = math.MaxInt },
	} {
		h := header
		change(&h)
		if _, err := d.Create(h); err == nil {
			t.Errorf("%s: created", name)
		}
	}
	if left := files(t, d); len(left) > 0 {
		t.Errorf("files %v", left)
	}
	if _, err := d.Open("../x", 0); err == nil || d.Has("../x", 0) {
		t.Error("opened a path")
	}
}
