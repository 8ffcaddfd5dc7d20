package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/data/store"
	"github.com/ergoflow/ergoflow/data/store/s3test"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

const run = "0123456789abcdef"

// open is the archive of a coordinator that has begun.
func open(t *testing.T, s store.Store, cluster string) *Archive {
	t.Helper()
	a, err := New(s, cluster)
	if err == nil {
		_, err = a.Take(t.Context(), Holder{Host: "here", PID: 1})
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// made is a checkpoint of size bytes, as a checkpoint.Store describes it.
func made(generation, step, size int, loss float64) (checkpoint.Info, []byte) {
	data := storetest.Content(size, uint64(1000*generation+step))
	return checkpoint.Info{
		ID: "id", Run: run, Experiment: "vn1d", Generation: ergoflow.Generation(generation), Step: ergoflow.Step(step),
		Loss: checkpoint.Loss(loss), Size: int64(size), SHA256: sumOf(data), Time: time.Unix(1, 0).UTC(),
	}, data
}

func save(t *testing.T, a *Archive, info checkpoint.Info, data []byte) {
	t.Helper()
	if err := a.Save(t.Context(), info, data); err != nil {
		t.Fatal(err)
	}
}

// marks are those of the run's checkpoints, the most advanced first.
func marks(t *testing.T, a *Archive) (all []string) {
	t.Helper()
	entries, err := a.Entries(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		all = append(all, fmt.Sprintf("%d-%d", e.Mark.Generation, e.Mark.Step))
	}
	return all
}

func keys(t *testing.T, s store.Store, prefix string) []string {
	t.Helper()
	list, err := s.List(t.Context(), prefix)
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, o := range list {
		all = append(all, o.Key)
	}
	return all
}

// What is saved is read, also of several chunks, also twice; other clusters and runs see nothing
// of it.
func TestSaveAndRead(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	a, b := open(t, s, "lab"), open(t, s, "b")
	for _, size := range []int{1, chunkBytes, 2*chunkBytes + 5} {
		info, data := made(1, size%1000, size, math.NaN())
		save(t, a, info, data)
		save(t, a, info, data)
		entries, err := a.Entries(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		i := slices.IndexFunc(entries, func(e Entry) bool { return e.Mark == info.Mark() })
		if i < 0 {
			t.Fatalf("no checkpoint at %v among %v", info.Mark(), entries)
		}
		got, read, err := Read(t.Context(), s, entries[i])
		if err != nil || !bytes.Equal(read, data) || got.SHA256 != info.SHA256 || !got.Time.Equal(info.Time) || !math.IsNaN(float64(got.Loss)) {
			t.Errorf("%d bytes: %+v, %v", size, got, err)
		}
	}
	if n := len(marks(t, a)); n != 3 {
		t.Errorf("%d checkpoints, want 3", n)
	}
	if entries, err := b.Entries(t.Context(), ""); err != nil || len(entries) != 0 {
		t.Errorf("another cluster sees %v, %v", entries, err)
	}
	if entries, err := a.Entries(t.Context(), run[:8]); err != nil || len(entries) != 0 {
		t.Errorf("another run has %v, %v", entries, err)
	}
	save(t, b, must(made(1, 1, 10, 1)), storetest.Content(10, 1001))
	if all, err := All(t.Context(), s); err != nil || len(all) != 4 || all[0].Cluster != "b" {
		t.Errorf("%v, %v", all, err)
	}
	info, data := made(1, 1, 10, 1)
	for _, bad := range []func(*checkpoint.Info){
		func(i *checkpoint.Info) { i.Run = "../x" },
		func(i *checkpoint.Info) { i.Size++ },
		func(i *checkpoint.Info) { i.SHA256 = strings.Repeat("0", 64) },
	} {
		wrong := info
		bad(&wrong)
		if err := a.Save(t.Context(), wrong, data); err == nil {
			t.Errorf("%+v was saved", wrong)
		}
	}
	for _, name := range []string{"", "a/b", "..", "ä", strings.Repeat("a", 65)} {
		if _, err := New(s, name); err == nil {
			t.Errorf("the name %q was taken", name)
		}
	}
}

func must(i checkpoint.Info, _ []byte) checkpoint.Info { return i }

// failing puts some objects and then fails, as a coordinator that is killed. An archive puts
// several at once.
type failing struct {
	store.Store
	left atomic.Int64 // puts
}

func (f *failing) Put(ctx context.Context, key string, content io.ReaderAt, size int64) error {
	if f.left.Add(-1) < 0 {
		return errors.New("killed")
	}
	return f.Store.Put(ctx, key, content, size)
}

// A save that stops after any put leaves nothing that a reader sees. The next one completes it,
// or a sweep removes what it left.
func TestInterruptedSave(t *testing.T) {
	info, data := made(1, 10, 2*chunkBytes+1, 1)
	for puts := range 5 {
		s := &failing{Store: storetest.NewDir(t.TempDir())}
		s.left.Store(1)
		a := open(t, s, "lab")
		s.left.Store(int64(puts))
		if err := a.Save(t.Context(), info, data); (err == nil) != (puts == 4) {
			t.Fatalf("%d puts: %v", puts, err)
		}
		if n := len(marks(t, a)); n != puts/4 {
			t.Errorf("%d puts: %d checkpoints", puts, n)
		}
		if puts == 4 {
			continue
		}
		chunks := len(keys(t, s, root+"lab/run"))
		if removed, err := a.Sweep(t.Context(), time.Now().Add(-time.Hour)); err != nil || removed != 0 {
			t.Errorf("what is new is swept: %d, %v", removed, err)
		}
		if removed, err := a.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || removed != chunks {
			t.Errorf("%d of %d chunks are swept, %v", removed, chunks, err)
		}
		s.left.Store(int64(puts))
		_ = a.Save(t.Context(), info, data) // fails as before
		s.left.Store(9)
		save(t, a, info, data)
		if removed, err := a.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || removed != 0 {
			t.Errorf("chunks of a checkpoint are swept: %d, %v", removed, err)
		}
		entries, err := a.Entries(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if _, got, err := Read(t.Context(), s, entries[0]); err != nil || !bytes.Equal(got, data) {
			t.Error(err)
		}
	}
}

// Pruning keeps what checkpoint.Store.Prune keeps, whatever the order and the losses, and every
// checkpoint that is kept can be read.
func TestPrune(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 0))
		s := storetest.NewDir(t.TempDir())
		a := open(t, s, "lab")
		local, err := checkpoint.Open(filepath.Join(t.TempDir(), "checkpoints.db"), false)
		if err != nil {
			t.Fatal(err)
		}
		for i := range 12 {
			generation, step := 1+r.IntN(3), []int{1, 10, 100, 1000, 2, 20}[r.IntN(6)] // keys that begin as others do
			info, data := made(generation, step, 50, []float64{math.NaN(), 1, 2, 3}[r.IntN(4)])
			info.ID = ""
			if known, err := local.Run(run); err != nil || slices.ContainsFunc(known, func(k checkpoint.Info) bool { return k.Mark() == info.Mark() }) {
				continue
			}
			if info, err = local.Save(info, data); err != nil {
				t.Fatal(err)
			}
			save(t, a, info, data)
			if i%3 != 2 {
				continue
			}
			if _, err := local.Prune(3, 1); err != nil {
				t.Fatal(err)
			}
			if _, err := a.Prune(t.Context(), run, 3, 1); err != nil {
				t.Fatal(err)
			}
			var want []string
			known, err := local.Run(run)
			if err != nil {
				t.Fatal(err)
			}
			for _, k := range known {
				want = append(want, fmt.Sprintf("%d-%d", k.Generation, k.Step))
			}
			if got := marks(t, a); !slices.Equal(got, want) {
				t.Errorf("seed %d: %v, want %v", seed, got, want)
			}
		}
		entries, err := a.Entries(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if _, _, err := Read(t.Context(), s, e); err != nil {
				t.Errorf("seed %d: %v", seed, err)
			}
		}
		if n, all := len(entries), keys(t, s, root+"lab/run"); len(all) != 2*n { // a record and a chunk
			t.Errorf("seed %d: %d checkpoints, and the store has %v", seed, n, all)
		}
		local.Close()
	}
}

// A store that lies is noticed: whatever byte of whatever object it changes, whatever object it
// loses or shortens, and nothing but that checkpoint is lost.
func TestDamage(t *testing.T) {
	dir := t.TempDir()
	s := storetest.NewDir(dir)
	a := open(t, s, "lab")
	info, data := made(1, 10, chunkBytes+100, 1)
	save(t, a, info, data)
	whole, other := made(1, 5, 100, 1)
	save(t, a, whole, other)
	entries, err := a.Entries(t.Context(), run)
	if err != nil || len(entries) != 2 {
		t.Fatal(entries, err)
	}
	damaged := keys(t, s, entries[0].folder())
	if len(damaged) != 3 {
		t.Fatal(damaged)
	}
	for _, key := range damaged {
		path := filepath.Join(dir, filepath.FromSlash(key))
		good, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for name, bad := range map[string][]byte{
			"the first byte": slices.Concat([]byte{good[0] ^ 1}, good[1:]),
			"the last byte":  slices.Concat(good[:len(good)-1], []byte{good[len(good)-1] ^ 1}),
			"shorter":        good[:len(good)-1],
			"longer":         slices.Concat(good, []byte{0}),
			"empty":          {},
			"missing":        nil,
		} {
			if err := os.Remove(path); err != nil && bad != nil {
				t.Fatal(err)
			}
			if bad != nil {
				if err := os.WriteFile(path, bad, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if _, _, err := Read(t.Context(), s, entries[0]); !errors.Is(err, ErrCorrupt) || !strings.Contains(err.Error(), key) {
				t.Errorf("%s: %s: %v", key, name, err)
			}
			if _, got, err := Read(t.Context(), s, entries[1]); err != nil || !bytes.Equal(got, other) {
				t.Errorf("%s: %s: the other one: %v", key, name, err)
			}
			if err := os.WriteFile(path, good, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	// A chunk of another length is put anew; a record that describes another state is refused.
	chunk := filepath.Join(dir, filepath.FromSlash(entries[0].chunk(sumOf(data[:chunkBytes]))))
	if err := os.Truncate(chunk, 5); err != nil {
		t.Fatal(err)
	}
	save(t, a, info, data)
	if _, got, err := Read(t.Context(), s, entries[0]); err != nil || !bytes.Equal(got, data) {
		t.Error(err)
	}
	content, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(entries[0].key())))
	if err != nil {
		t.Fatal(err)
	}
	moved := entries[0]
	moved.Mark.Step = 99
	storetest.Put(t, s, moved.key(), content)
	if _, _, err := Read(t.Context(), s, moved); !errors.Is(err, ErrCorrupt) {
		t.Error(err)
	}
}

// Of two coordinators with one name the later one holds the checkpoints. The earlier one notices
// before it commits or deletes anything.
func TestHolders(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	a := open(t, s, "lab")
	info, data := made(1, 10, 100, 1)
	save(t, a, info, data)
	b, err := New(s, "lab")
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Save(t.Context(), info, data); !errors.Is(err, ErrTaken) {
		t.Errorf("before it begins: %v", err)
	}
	before, err := b.Take(t.Context(), Holder{Host: "there", PID: 2, Began: time.Unix(1, 0)})
	if err != nil || before == nil || before.Host != "here" {
		t.Fatalf("%+v, %v", before, err)
	}
	had := keys(t, s, root+"lab/run")
	later, more := made(2, 20, 100, 1)
	for what, do := range map[string]func() error{
		"save":  func() error { return a.Save(t.Context(), later, more) },
		"sweep": func() error { _, err := a.Sweep(t.Context(), time.Now().Add(time.Hour)); return err },
	} {
		if err := do(); !errors.Is(err, ErrTaken) || !strings.Contains(err.Error(), "there") {
			t.Errorf("%s: %v", what, err)
		}
	}
	if got := marks(t, a); !slices.Equal(got, []string{"1-10"}) {
		t.Errorf("%v after %v", got, had)
	}
	save(t, b, later, more)
	for step := range 4 {
		save(t, b, must(made(3, step, 10, 1)), storetest.Content(10, uint64(3000+step)))
	}
	if _, err := a.Prune(t.Context(), run, 1, 0); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if n := len(marks(t, b)); n != 6 {
		t.Errorf("%d checkpoints, want 6", n)
	}
	for range 20 { // old holders are forgotten, and numbers go on
		open(t, s, "lab")
	}
	if got := keys(t, s, root+"lab/holder"); len(got) != keptHolders || !slices.Contains(got, root+"lab/holder/22.json") {
		t.Errorf("%v", got)
	}
}

// Of many coordinators that begin at once each has a number of its own, and one holds.
func TestHoldersAtOnce(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	const n = 8
	took := make(chan *Archive, n)
	for range n {
		go func() {
			a, err := New(s, "lab")
			if err == nil {
				_, err = a.Take(context.Background(), Holder{})
			}
			if err != nil {
				t.Error(err)
			}
			took <- a
		}()
	}
	numbers, holding := make(map[int]bool), 0
	for range n {
		numbers[(<-took).number] = true
	}
	for number := range numbers {
		a := &Archive{s, "lab", number}
		if err := a.Held(t.Context()); err == nil {
			holding++
		} else if !errors.Is(err, ErrTaken) {
			t.Error(err)
		}
	}
	if len(numbers) != n || holding != 1 {
		t.Errorf("numbers %v, %d hold", slices.Sorted(maps.Keys(numbers)), holding)
	}
}

// A real server of S3 keeps checkpoints, and two that begin at once have numbers of their own.
func TestVersity(t *testing.T) {
	s := storetest.Open(t, s3test.Location(s3test.New(t).URL, "/odd é%25/p"), store.Options{})
	a := open(t, s, "lab")
	for step := range 5 {
		info, data := made(1, 1+step, chunkBytes+step, float64(step))
		save(t, a, info, data)
		if _, err := a.Prune(t.Context(), run, 3, 1); err != nil {
			t.Fatal(err)
		}
	}
	if got := marks(t, a); !slices.Equal(got, []string{"1-5", "1-4", "1-3", "1-1"}) {
		t.Errorf("%v", got)
	}
	entries, err := a.Entries(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, _, err := Read(t.Context(), s, e); err != nil {
			t.Error(err)
		}
	}
	if removed, err := a.Sweep(t.Context(), time.Now().Add(time.Hour)); err != nil || removed != 0 {
		t.Errorf("%d chunks of checkpoints are swept, %v", removed, err)
	}
	b := open(t, s, "lab")
	if err := a.Held(t.Context()); !errors.Is(err, ErrTaken) {
		t.Error(err)
	}
	if err := b.Held(t.Context()); err != nil {
		t.Error(err)
	}
}

// FuzzParse: a key that is parsed is the one that is made again.
func FuzzParse(f *testing.F) {
	e := Entry{Cluster: "lab", Run: run, Mark: ergoflow.Mark{Generation: 5, Step: 100}, sum: strings.Repeat("a", 64)}
	f.Add(e.key())
	f.Add(e.chunk(strings.Repeat("b", 64)))
	f.Add("checkpoints/lab/run/x/05-1/" + strings.Repeat("b", 64))
	f.Fuzz(func(t *testing.T, key string) {
		e, chunk, ok := parse(key)
		if !ok {
			return
		}
		if chunk == "" && e.key() != key || chunk != "" && e.chunk(chunk) != key {
			t.Errorf("%q is %+v, %q", key, e, chunk)
		}
	})
}
