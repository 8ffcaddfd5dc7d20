package imports

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// specOf is for a data set of that family with functions 8 to 11 held out.
func specOf(t testing.TB, name string, samples int) Spec {
	t.Helper()
	f, err := family.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	return Spec{Family: f, Seed: 1, Samples: samples, HeldOutFirst: 8, HeldOut: 4}
}

func collect(t testing.TB, store *shard.Dir, path string, spec Spec) Result {
	t.Helper()
	r, err := Collect(t.Context(), store, "mine", path, spec)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// one is the only import that a collection accepted.
func one(t testing.TB, r Result) Record {
	t.Helper()
	if len(r.Accepted) != 1 || len(r.Rejected)+len(r.Known)+len(r.Waiting) > 0 {
		t.Fatalf("%+v", r)
	}
	return r.Accepted[0]
}

func opened(t testing.TB, store *shard.Dir, hash string) *Import {
	t.Helper()
	im, err := Open(store, hash)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := im.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := im.Verify(t.Context()); err != nil {
		t.Error(err)
	}
	return im
}

// file is a safetensors file of Ornstein–Uhlenbeck equations on the grid of vn1d, which tests
// then spoil.
type file struct {
	drift, diffusion, samples []float32
	shapes                    [3][]int
	metadata                  map[string]string
	tensors                   []safetensors.Tensor // added
}

const gridOfVN1D = `{"lo": -5, "hi": 5, "nodes": 64}`

func ou(seed uint64, functions, samples int) *file {
	rng := rand.New(rand.NewPCG(seed, 7))
	f := &file{metadata: map[string]string{"grid": gridOfVN1D}}
	f.shapes = [3][]int{{functions, 64}, {functions, 64}, {functions, samples, 1}}
	grid := sde.Grid{Lo: -5, Hi: 5, N: 64}
	for range functions {
		k, m, s := 0.5+rng.Float64(), 2*rng.Float64()-1, 0.5+rng.Float64()
		for j := range grid.N {
			f.drift = append(f.drift, float32(-k*(grid.At(j)-m)))
			f.diffusion = append(f.diffusion, float32(s))
		}
		for range samples {
			f.samples = append(f.samples, float32(m+s/math.Sqrt(2*k)*rng.NormFloat64()))
		}
	}
	return f
}

func (f *file) encode(t testing.TB) []byte {
	t.Helper()
	var all []safetensors.Tensor
	for k, values := range [][]float32{f.drift, f.diffusion, f.samples} {
		if values != nil {
			all = append(all, safetensors.Float32([]string{"drift", "diffusion", "samples"}[k], f.shapes[k], values))
		}
	}
	b, err := safetensors.Encode(append(all, f.tensors...), f.metadata)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func (f *file) write(t testing.TB, path string) {
	t.Helper()
	put(t, path, f.encode(t))
}

func put(t testing.TB, path string, content []byte) {
	t.Helper()
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// The forms that Python writes hold the same equations and samples.
func TestGolden(t *testing.T) {
	store := shard.NewDir(t.TempDir())
	golden := func(name string) string { // Collect may move files
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", name))); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	fields := opened(t, store, one(t, collect(t, store, golden("fields"), specOf(t, "vn1d", 64))).Hash)
	if r := fields.Record(); r.Functions != 5 || r.Samples != 64 || r.Family != "vn1d" || r.File != "ou.safetensors" || r.Warnings != nil {
		t.Errorf("%+v", r)
	}
	other := shard.NewDir(t.TempDir())
	formulas := opened(t, other, one(t, collect(t, other, golden("formulas"), specOf(t, "vn1d", 64))).Hash)
	for i := range 5 { // both in order of hashes of their own
		near := func(j int) bool {
			return slices.Equal(formulas.Samples(j), fields.Samples(i)) && within(formulas.Field(0, j), fields.Field(0, i), 1e-5) && within(formulas.Field(1, j), fields.Field(1, i), 1e-6)
		}
		if !slices.ContainsFunc([]int{0, 1, 2, 3, 4}, near) {
			t.Errorf("function %d of the fields is none of the formulas", i)
		}
	}
	arrays := collect(t, shard.NewDir(t.TempDir()), golden("arrays"), specOf(t, "vn1d", 64))
	if len(arrays.Accepted) != 2 || arrays.Accepted[0].Functions+arrays.Accepted[1].Functions != 5 || len(arrays.Warnings) > 0 {
		t.Errorf("%+v", arrays)
	}
	planes := shard.NewDir(t.TempDir())
	plane := opened(t, planes, one(t, collect(t, planes, golden("plane"), specOf(t, "cn2d", 32))).Hash)
	if r := plane.Record(); r.Functions != 2 || r.Dim != 2 || len(plane.Field(0, 0)) != 2048 || len(plane.Samples(1)) != 128 {
		t.Errorf("%+v", r)
	}
}

// The hash is of the content: not of the form, the order of functions or the file's name.
func TestHashIsOfTheContent(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	a := ou(1, 6, 32)
	a.write(t, filepath.Join(dir, "a.safetensors"))
	want := one(t, collect(t, store, dir, specOf(t, "vn1d", 32)))

	// The functions backwards, as arrays of float64.
	back := func(values []float32, width int) npy.Array[float64] {
		var all []float64
		for i := 5; i >= 0; i-- {
			for _, v := range values[i*width : (i+1)*width] {
				all = append(all, float64(v))
			}
		}
		return npy.Array[float64]{Shape: []int{6, width}, Data: all}
	}
	other := t.TempDir()
	for name, array := range map[string]npy.Array[float64]{"b.npy": back(a.samples, 32), "b.drift.npy": back(a.drift, 64), "b.diffusion.npy": back(a.diffusion, 64)} {
		if err := npy.Write(t.Context(), filepath.Join(other, name), array); err != nil {
			t.Fatal(err)
		}
	}
	put(t, filepath.Join(other, "b.json"), []byte(`{"grid": `+gridOfVN1D+`}`))
	r := collect(t, store, other, specOf(t, "vn1d", 32))
	if len(r.Known) != 1 || r.Known[0].Hash != want.Hash || len(r.Accepted) > 0 {
		t.Errorf("%+v, want %s as known", r, want.Hash)
	}
	if list, err := List(store, "mine"); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	// Another sample, another family: another content.
	a.samples[0] += 0.5
	a.write(t, filepath.Join(t.TempDir(), "c.safetensors"))
	third := shard.NewDir(t.TempDir())
	path := filepath.Join(t.TempDir(), "c.safetensors")
	a.write(t, path)
	if changed := one(t, collect(t, third, path, specOf(t, "vn1d", 32))); changed.Hash == want.Hash {
		t.Error("other samples have the same hash")
	}
}

// What is in a directory is imported once. The second time nothing is read.
func TestKnown(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	path := filepath.Join(dir, "a.safetensors")
	ou(1, 4, 32).write(t, path)
	want := one(t, collect(t, store, dir, specOf(t, "vn1d", 32)))
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	put(t, path, make([]byte, info.Size())) // would be rejected if it were read
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if r := collect(t, store, dir, specOf(t, "vn1d", 32)); len(r.Known) != 1 || r.Known[0].Hash != want.Hash || len(r.Accepted)+len(r.Rejected) > 0 {
			t.Errorf("%+v", r)
		}
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, store, dir, specOf(t, "vn1d", 32)); len(r.Rejected) != 1 {
		t.Errorf("a changed file was not read again: %+v", r)
	}
}

// The order of files within one collection does not matter; later collections are newer.
func TestOrder(t *testing.T) {
	var want []string
	for _, order := range [][]string{{"a", "b", "c"}, {"c", "a", "b"}} {
		dir, store := t.TempDir(), shard.NewDir(t.TempDir())
		for i, name := range order {
			path := filepath.Join(dir, name+".safetensors")
			ou(uint64(name[0]), 2, 32).write(t, path)
			when := time.Date(2026, 1, 1+i, 0, 0, 0, 0, time.UTC)
			if err := os.Chtimes(path, when, when); err != nil {
				t.Fatal(err)
			}
		}
		if r := collect(t, store, dir, specOf(t, "vn1d", 32)); len(r.Accepted) != 3 {
			t.Fatalf("%+v", r)
		}
		ou('0', 2, 32).write(t, filepath.Join(dir, "0.safetensors"))
		spec := specOf(t, "vn1d", 32)
		spec.Now = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC) // a clock that was set back
		newest := collect(t, store, dir, spec)
		list, err := List(store, "mine")
		if err != nil || len(list) != 4 || len(newest.Known) != 3 || list[3].Hash != newest.Accepted[0].Hash {
			t.Fatalf("%+v, %v after %+v", list, err, newest)
		}
		var got []string
		for _, r := range list {
			got = append(got, r.Hash)
		}
		if want == nil {
			want = got
		}
		if !slices.Equal(got, want) || !slices.IsSorted(got[:3]) {
			t.Errorf("order %v: %v, want %v", order, got, want)
		}
	}
}

// Files that may still be being written are left for the next time.
func TestWaiting(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	path := filepath.Join(dir, "a.safetensors")
	ou(1, 4, 32).write(t, path)
	put(t, filepath.Join(dir, "b.safetensors.part"), []byte("half"))
	put(t, filepath.Join(dir, ".hidden.safetensors"), []byte("half"))
	put(t, filepath.Join(dir, "README.md"), nil)
	put(t, filepath.Join(dir, "notes.json"), []byte("{}"))
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	spec := specOf(t, "vn1d", 32)
	spec.Watched, spec.Now = true, now
	for _, c := range []struct {
		age      time.Duration
		accepted int
	}{{time.Second, 0}, {-time.Second, 0}, {settled, 1}} {
		if err := os.Chtimes(path, now, now.Add(-c.age)); err != nil {
			t.Fatal(err)
		}
		r := collect(t, store, dir, spec)
		if len(r.Accepted) != c.accepted || len(r.Waiting) != 2-c.accepted || len(r.Rejected) > 0 || len(r.Warnings) != 1 || r.Warnings[0] != "notes.json belongs to no samples" {
			t.Errorf("changed %v ago: %+v", c.age, r)
		}
	}
	// A clock that is ahead does not keep a file waiting for ever.
	ou(2, 4, 32).write(t, path)
	if err := os.Chtimes(path, now, now.Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	if r := collect(t, store, dir, spec); len(r.Accepted) != 1 {
		t.Errorf("from the future: %+v", r)
	}
	for _, name := range []string{"b.safetensors.part", ".hidden.safetensors", "README.md", "notes.json"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// Samples that contradict their equations are imported with a warning.
func TestWarnings(t *testing.T) {
	store := shard.NewDir(t.TempDir())
	shuffled := ou(1, 6, 256)
	shuffled.samples = append(shuffled.samples[256:], shuffled.samples[:256]...)
	far := ou(2, 6, 256)
	for i := range far.samples {
		far.samples[i] *= 20
	}
	outward := ou(3, 6, 256)
	for i := range 64 {
		outward.drift[i] *= -1
	}
	for want, f := range map[string]*file{
		"do not have the law of their equation": shuffled,
		"% of the samples are outside the grid": far,
		"have no invariant law on the grid":     outward,
	} {
		path := filepath.Join(t.TempDir(), "x.safetensors")
		f.write(t, path)
		r := one(t, collect(t, store, path, specOf(t, "vn1d", 32)))
		if len(r.Warnings) == 0 || !containsAny(r.Warnings, want) {
			t.Errorf("%v, want %q", r.Warnings, want)
		}
	}
	path := filepath.Join(t.TempDir(), "x.safetensors")
	ou(4, 40, 64).write(t, path)
	if r := one(t, collect(t, store, path, specOf(t, "vn1d", 32))); r.Warnings != nil {
		t.Errorf("good samples: %v", r.Warnings)
	}
}

// Families without equations on a grid have no imports.
func TestUnsupportedFamilies(t *testing.T) {
	for _, name := range []string{"particles64d", "vn1d_time"} {
		if _, err := Collect(t.Context(), shard.NewDir(t.TempDir()), "mine", t.TempDir(), specOf(t, name, 1)); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, name := range []string{"", "../x", "A", "-x", ".x"} {
		if _, err := Collect(t.Context(), shard.NewDir(t.TempDir()), name, t.TempDir(), specOf(t, "vn1d", 1)); err == nil {
			t.Errorf("name %q: no error", name)
		}
	}
}

// A damaged or missing import is an error with its hash.
func TestDamaged(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	ou(1, 4, 32).write(t, filepath.Join(dir, "a.safetensors"))
	r := one(t, collect(t, store, dir, specOf(t, "vn1d", 32)))
	path := r.path(store)
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func([]byte) []byte{
		"sample":   func(b []byte) []byte { b[len(b)-200] ^= 1; return b },
		"equation": func(b []byte) []byte { b[len(b)-1] ^= 1; return b },
		"short":    func(b []byte) []byte { return b[:len(b)-1] },
		"empty":    func([]byte) []byte { return nil },
	} {
		put(t, path, change(slices.Clone(b)))
		im, err := Open(store, r.Hash)
		if err == nil {
			err = im.Verify(t.Context())
			im.Close()
		}
		if err == nil || !strings.Contains(err.Error(), r.Hash) || !strings.Contains(err.Error(), ErrCorrupt.Error()) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(store, r.Hash); err == nil || !strings.Contains(err.Error(), r.Hash) {
		t.Errorf("without the file: %v", err)
	}
	if _, err := Open(store, "00112233445566778899aabbccddeeff"); err == nil || !strings.Contains(err.Error(), ErrMissing.Error()) {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{`{`, `{"format":2}`, fmt.Sprintf(`{"format":1,"hash":%q}`, r.Hash)} {
		put(t, filepath.Join(directory(store, "mine"), r.Hash+".json"), []byte(bad))
		if list, err := List(store, "mine"); err == nil || len(list) > 0 {
			t.Errorf("%s: %v, %v", bad, list, err)
		}
	}
}

// A file that changes while it is stored waits, and leaves nothing.
func TestChangesMeanwhile(t *testing.T) {
	dir, store := t.TempDir(), shard.NewDir(t.TempDir())
	path := filepath.Join(dir, "a.safetensors")
	f := ou(1, 4, 32)
	f.write(t, path)
	failpoint = func(at string) {
		if at == "begin" {
			f.samples[3]++
			f.write(t, path)
		}
	}
	defer func() { failpoint = func(string) {} }()
	r := collect(t, store, dir, specOf(t, "vn1d", 32))
	if len(r.Waiting) != 1 || len(r.Accepted)+len(r.Rejected) > 0 {
		t.Errorf("%+v", r)
	}
	left, err := filepath.Glob(filepath.Join(directory(store, "mine"), "[^.]*"))
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func containsAny(texts []string, part string) bool {
	return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(text, part) })
}
