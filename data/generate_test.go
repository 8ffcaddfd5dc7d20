package data

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func generate(t *testing.T, d Dataset, k int, store *shard.Dir) {
	t.Helper()
	if err := Generate(t.Context(), d, k, store, simulate.Fastest(), nil); err != nil {
		t.Fatal(err)
	}
}

// none knows no function of a shard.
func none(h shard.Header) *stored { return &stored{rows: make([]row, h.Count)} }

func opened(t *testing.T, store *shard.Dir, d Dataset, k int) *shard.Shard {
	t.Helper()
	s, err := store.Open(d.Hash(), k)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// A shard holds the functions of the family and their samples, with the scheme and the
// purpose of training or of the reference.
func TestContents(t *testing.T) {
	for _, name := range family.Names() {
		d, store := tiny(), shard.NewDir(t.TempDir())
		d.Family, d.ReferenceSamples = name, 256
		if name == "vn1d_time" {
			d = atTimes(d)
		}
		f, err := family.ByName(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, d.HeldOutShard()} {
			generate(t, d, k, store)
			s := opened(t, store, d, k)
			first, count := d.ShardRange(k)
			want := shard.Header{
				Family: name, Dataset: d.Hash(), Shard: k, Purpose: "train",
				First: first, Count: count, Dim: f.Dim(), Fields: f.Fields(), Samples: 128,
			}
			scheme := d.Training
			if k == d.HeldOutShard() {
				want.Purpose, want.Samples, scheme = "reference", 256, d.Reference
			}
			if got := s.Manifest().Header; !reflect.DeepEqual(got, want) {
				t.Errorf("%s shard %d: %+v, want %+v", name, k, got, want)
			}
			samples := make([]float32, want.Samples*want.Dim)
			for i := range count {
				function, err := f.Function(d.Seed, first+i)
				if err != nil {
					t.Fatal(err)
				}
				for field, values := range function.Fields {
					if !slices.Equal(s.Field(field, i), values) {
						t.Errorf("%s shard %d: field %d of function %d differs from what the family makes", name, k, field, first+i)
					}
				}
				if err := family.Sample(t.Context(), f, samples, family.SampleSpec{
					First: first + i, Count: 1, Seed: d.Seed, Scheme: scheme, Purpose: want.Purpose,
				}, simulate.Fastest(), nil); err != nil {
					t.Fatal(err)
				}
				if !slices.Equal(s.Samples(i), samples) {
					t.Errorf("%s shard %d: samples of function %d differ from what the family makes", name, k, first+i)
				}
			}
		}
	}
}

// Exact draws apply to training, to the reference, or to both.
func TestExactContents(t *testing.T) {
	for _, purpose := range []string{shard.Train, shard.Reference} {
		d, store := tiny(), shard.NewDir(t.TempDir())
		if purpose == shard.Train {
			d.Draws = Exact
		} else {
			d.ReferenceDraws = Exact
		}
		f, err := family.ByName(d.Family)
		if err != nil {
			t.Fatal(err)
		}
		for _, k := range []int{1, d.HeldOutShard()} {
			generate(t, d, k, store)
			s := opened(t, store, d, k)
			exact := make([]float32, s.Manifest().Count*d.Samples)
			if err := family.Sample(t.Context(), f, exact, family.SampleSpec{
				First: s.Manifest().First, Count: s.Manifest().Count, Seed: d.Seed, Purpose: s.Manifest().Purpose, Exact: true,
			}, nil, nil); err != nil {
				t.Fatal(err)
			}
			asked := s.Manifest().Purpose == purpose
			for i := range s.Manifest().Count {
				if got := slices.Equal(s.Samples(i), exact[i*d.Samples:(i+1)*d.Samples]); got != asked {
					t.Errorf("exact %s: function %d of shard %d has exact draws: %v", purpose, i, k, got)
				}
			}
			if simulator := s.Manifest().Simulator; (simulator == "") != asked {
				t.Errorf("exact %s: shard %d is said to be simulated by %q", purpose, k, simulator)
			}
		}
	}
}

// The bytes do not depend on the number of threads.
func TestSameBytesOnAnyNumberOfThreads(t *testing.T) {
	d := tiny()
	sums := map[string]bool{}
	for _, threads := range []int{1, 2, 7} {
		before := runtime.GOMAXPROCS(threads)
		store := shard.NewDir(t.TempDir())
		generate(t, d, 2, store)
		runtime.GOMAXPROCS(before)
		m, err := store.Manifest(d.Hash(), 2)
		if err != nil {
			t.Fatal(err)
		}
		sums[m.SHA256] = true
	}
	if len(sums) != 1 {
		t.Errorf("%d different files: %v", len(sums), sums)
	}
}

// Generate skips an existing shard, and makes a truncated one again.
func TestIdempotent(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	generate(t, d, 0, store)
	path := filepath.Join(store.Root(), "vn1d-"+d.Hash(), "shard-00000.safetensors")
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	var done, total int
	if err := Generate(t.Context(), d, 0, store, simulate.Fastest(), func(n, of int) { done, total = n, of }); err != nil {
		t.Fatal(err)
	}
	if done != 4 || total != 4 {
		t.Errorf("progress %d of %d, want 4 of 4", done, total)
	}
	if after, err := os.Stat(path); err != nil || !os.SameFile(before, after) {
		t.Errorf("the file was replaced (%v)", err)
	}
	if err := os.Truncate(path, before.Size()/2); err != nil {
		t.Fatal(err)
	}
	generate(t, d, 0, store)
	if err := store.Verify(t.Context(), d.Hash(), 0); err != nil {
		t.Error(err)
	}
}

// Stopping in the middle leaves no file and no goroutine.
func TestCancel(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	ctx, cancel := context.WithCancel(t.Context())
	err := Generate(ctx, d, 0, store, simulate.Fastest(), func(done, _ int) {
		if done == 2 {
			cancel()
		}
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want context.Canceled", err)
	}
	nothingLeft(t, store)
	if store.Has(d.Hash(), 0) {
		t.Error("the store has an unfinished shard")
	}
}

func nothingLeft(t *testing.T, store *shard.Dir) {
	t.Helper()
	err := filepath.WalkDir(store.Root(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() {
			t.Errorf("left behind: %s", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// recorder is a simulator that records its batches and may fail.
type recorder struct {
	*simulate.Engine
	asked []simulate.Batch
	fail  int // number of the call that fails, from 1
}

func (r *recorder) Simulate(ctx context.Context, dst []float32, b simulate.Batch, progress func(done, total int)) error {
	if r.asked = append(r.asked, b); len(r.asked) == r.fail {
		dst[0] = float32(math.NaN())
		return &simulate.DivergedError{Function: uint64(b.First), Chain: 3, Step: 70}
	}
	return r.Engine.Simulate(ctx, dst, b, progress)
}

// The samples of a shard do not depend on the size of stretches, and progress counts its
// functions.
func TestStretches(t *testing.T) {
	d := tiny()
	f, err := family.ByName(d.Family)
	if err != nil {
		t.Fatal(err)
	}
	h := d.header(0, f)
	var sums []string
	for _, stretch := range []int{1, 3, h.Count, 100} {
		store, by := shard.NewDir(t.TempDir()), &recorder{Engine: simulate.Fastest()}
		w, err := store.Create(h)
		if err != nil {
			t.Fatal(err)
		}
		if err := writeFields(t.Context(), d.Seed, f, h, w, none(h)); err != nil {
			t.Fatal(err)
		}
		last := 0
		err = writeSamples(t.Context(), d, f, h, w, by, none(h), stretch, func(done, total int) {
			if done != last+1 || total != h.Count {
				t.Errorf("stretch %d: progress %d of %d after %d", stretch, done, total, last)
			}
			last = done
		})
		if err != nil || last != h.Count || len(by.asked) != (h.Count+stretch-1)/stretch {
			t.Errorf("stretch %d: %d functions in %d calls, error %v", stretch, last, len(by.asked), err)
		}
		m, err := w.Commit()
		if err != nil {
			t.Fatal(err)
		}
		sums = append(sums, m.SHA256)
	}
	if len(slices.Compact(sums)) != 1 {
		t.Errorf("different files: %v", sums)
	}
}

// Samples of a function that diverged are never in a shard, whichever stretch it
// is in; the error says which function, chain and step.
func TestDivergenceLeavesNoShard(t *testing.T) {
	d := tiny()
	d.Samples, d.Functions, d.HeldOut, d.Shards = 1<<22, 15, 1, 3 // four functions fill a stretch
	d.Training = simulate.Scheme{DT: 0.01, Thin: 1, Chains: 1 << 22}
	store := shard.NewDir(t.TempDir())
	err := Generate(t.Context(), d, 1, store, &recorder{Engine: simulate.Fastest(), fail: 2}, nil)
	var diverged *simulate.DivergedError
	if !errors.As(err, &diverged) || diverged.Function != 9 || !strings.Contains(err.Error(), "function 9, chain 3, step 70") {
		t.Errorf("error %v", err)
	}
	nothingLeft(t, store)
	if store.Has(d.Hash(), 1) {
		t.Error("the store has a shard with a diverged function")
	}
}

// bare is a family without fields in three dimensions.
type bare struct{ family.Family }

func (bare) Name() string           { return "bare" }
func (bare) Dim() int               { return 3 }
func (bare) Fields() []family.Field { return nil }

func (bare) Sample(_ context.Context, dst []float32, d family.SampleSpec, progress func(done, total int)) error {
	for i := range dst {
		dst[i] = float32(d.First*len(dst)/d.Count + i)
	}
	progress(d.Count, d.Count)
	return nil
}

// Shards of a family without fields have only samples.
func TestNoFields(t *testing.T) {
	d, store := tiny(), shard.NewDir(t.TempDir())
	d.Family = "bare"
	h := d.header(1, bare{})
	w, err := store.Create(h)
	if err != nil {
		t.Fatal(err)
	}
	if err := writeFields(t.Context(), d.Seed, bare{}, h, w, none(h)); err != nil {
		t.Fatal(err)
	}
	if err := writeSamples(t.Context(), d, bare{}, h, w, simulate.Fastest(), none(h), 3, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, store, d, 1)
	size := d.Samples * 3
	for i := range s.Manifest().Count {
		x := s.Samples(i)
		if first := float32((h.First + i) * size); len(x) != size || x[0] != first || x[size-1] != first+float32(size-1) {
			t.Errorf("function %d has %d values from %v", i, len(x), x[0])
		}
	}
	if n, err := shard.Normalise([]shard.Manifest{s.Manifest()}); err != nil || len(n) != 0 {
		t.Errorf("normalisation %v, %v", n, err)
	}
}

func TestGenerateRefuses(t *testing.T) {
	store := shard.NewDir(filepath.Join(t.TempDir(), "store"))
	bad := tiny()
	bad.Family = "x"
	if err := Generate(t.Context(), bad, 0, store, simulate.Fastest(), nil); err == nil {
		t.Error("an unknown family: no error")
	}
	for _, k := range []int{-1, 4} {
		if err := Generate(t.Context(), tiny(), k, store, simulate.Fastest(), nil); err == nil {
			t.Errorf("shard %d: no error", k)
		}
	}
	if err := os.WriteFile(store.Root(), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Generate(t.Context(), tiny(), 0, store, simulate.Fastest(), nil); err == nil {
		t.Error("a file for a store: no error")
	}
}

func TestInOrder(t *testing.T) {
	const n = 1000
	workers := int64(min(runtime.GOMAXPROCS(0), n))
	var produced atomic.Int64
	used := 0
	err := inOrder(t.Context(), n, func(_ context.Context, i int) (int, error) {
		produced.Add(1)
		return i * i, nil
	}, func(i, square int) error {
		if i != used || square != i*i {
			t.Fatalf("use(%d, %d) at place %d", i, square, used)
		}
		used++
		if ahead := produced.Load() - int64(used); ahead > 3*workers+1 {
			t.Errorf("%d values wait: memory is not bounded", ahead)
		}
		return nil
	})
	if err != nil || used != n {
		t.Errorf("used %d, error %v", used, err)
	}

	broken := errors.New("broken")
	for name, fail := range map[string][2]error{"produce": {broken, nil}, "use": {nil, broken}} {
		err := inOrder(t.Context(), n, func(_ context.Context, i int) (int, error) {
			if i == 500 {
				return 0, fail[0]
			}
			return 0, nil
		}, func(i, _ int) error {
			if i == 500 {
				return fail[1]
			}
			return nil
		})
		if !errors.Is(err, broken) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
