package depot

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/ergoflow/ergoflow/data/imports"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// replicated is a call of Replicate that copies a number of shards and imports.
func replicated(t *testing.T, to, from *Depot, want int) {
	t.Helper()
	if got, err := to.Replicate(t.Context(), from, dir(t)); err != nil || got != want {
		t.Errorf("%d copied, want %d: %v", got, want, err)
	}
}

// keysIn are those of all objects.
func keysIn(t *testing.T, d *Depot) (keys []string) {
	t.Helper()
	list, err := d.store.List(t.Context(), "")
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range list {
		keys = append(keys, o.Key)
	}
	return keys
}

// Of two depots each gets what the other has, once, and nothing is left on the way.
func TestReplicate(t *testing.T) {
	a, all := uploaded(t, storetest.NewDir(t.TempDir()), 3)
	b := New(storetest.NewDir(t.TempDir()))
	source := dir(t)
	for k := 2; k < 5; k++ { // number 2 is in both
		m := makeShard(t, source, one, k, float32(k))
		if err := b.Upload(t.Context(), source, one, k); err != nil {
			t.Fatal(err)
		}
		if k > 2 {
			all = append(all, m)
		}
	}
	r := imported(t, source)
	if _, err := b.UploadImports(t.Context(), source, r.Name); err != nil {
		t.Fatal(err)
	}
	by := dir(t)
	if got, err := a.Replicate(t.Context(), b, by); err != nil || got != 3 {
		t.Errorf("%d copied: %v", got, err)
	}
	if left, err := by.List(); err != nil || len(left) != 0 {
		t.Errorf("left on the way: %v, %v", left, err)
	}
	replicated(t, b, a, 2)
	replicated(t, a, b, 0)
	replicated(t, b, a, 0)
	if x, y := keysIn(t, a), keysIn(t, b); !slices.Equal(x, y) {
		t.Errorf("%v\n%v", x, y)
	}
	for _, d := range []*Depot{a, b} {
		to := dir(t)
		for k := range 5 {
			if err := d.Fetch(t.Context(), to, one, k); err != nil {
				t.Error(err)
			}
		}
		same(t, to, all)
		if err := d.FetchNamed(t.Context(), to, r.Name); err != nil {
			t.Error(err)
		}
		whole(t, to, r)
	}
}

// What is not committed is not copied. What is damaged is left out and named; the rest is copied.
func TestReplicateDamage(t *testing.T) {
	at := t.TempDir()
	s := &faulty{Store: storetest.NewDir(at)}
	from, all := uploaded(t, s, 4)
	if err := s.Delete(t.Context(), keyOf(one, 0)+manifestSuffix); err != nil { // its writer is not done
		t.Fatal(err)
	}
	if err := s.Delete(t.Context(), keyOf(one, 1)+manifestSuffix); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), keyOf(one, 1)+manifestSuffix, bytes.NewReader([]byte("{}")), 2); err != nil {
		t.Fatal(err)
	}
	damaged := dataKey(all[2])
	if err := s.Delete(t.Context(), damaged); err != nil {
		t.Fatal(err)
	}
	if err := s.Put(t.Context(), damaged, bytes.NewReader(make([]byte, all[2].Bytes)), all[2].Bytes); err != nil {
		t.Fatal(err)
	}
	to := New(storetest.NewDir(t.TempDir()))
	if got, err := to.Replicate(t.Context(), from, dir(t)); !errors.Is(err, shard.ErrCorrupt) || got != 1 {
		t.Errorf("%d copied: %v", got, err)
	}
	if got, err := to.Present(t.Context(), one, 4); err != nil || !slices.Equal(got, []int{3}) {
		t.Errorf("%v, %v", got, err)
	}
	if keys := keysIn(t, to); len(keys) != 2 {
		t.Errorf("%v", keys)
	}
}

// A damaged import does not keep others away.
func TestReplicateDamagedImport(t *testing.T) {
	from, source := New(storetest.NewDir(t.TempDir())), dir(t)
	r := imported(t, source)
	if _, err := from.UploadImports(t.Context(), source, r.Name); err != nil {
		t.Fatal(err)
	}
	data := importsRoot + r.Hash + dataSuffix
	o, err := from.store.Stat(t.Context(), data)
	if err == nil {
		err = from.store.Delete(t.Context(), data)
	}
	if err == nil {
		err = from.store.Put(t.Context(), data, bytes.NewReader(make([]byte, o.Bytes)), o.Bytes)
	}
	if err != nil {
		t.Fatal(err)
	}
	makeShard(t, source, one, 0, 1)
	if err := from.Upload(t.Context(), source, one, 0); err != nil {
		t.Fatal(err)
	}
	to := New(storetest.NewDir(t.TempDir()))
	if got, err := to.Replicate(t.Context(), from, dir(t)); !errors.Is(err, imports.ErrCorrupt) || got != 1 {
		t.Errorf("%d copied: %v", got, err)
	}
	if list, err := to.Imports(t.Context(), ""); err != nil || len(list) != 0 {
		t.Errorf("%v, %v", list, err)
	}
}

// A copy that is interrupted at any put leaves nothing that counts, and the next one completes it.
func TestReplicateInterrupted(t *testing.T) {
	from, all := uploaded(t, storetest.NewDir(t.TempDir()), 1)
	for puts := range 2 {
		s := &faulty{Store: storetest.NewDir(t.TempDir())}
		to, n, killed := New(s), 0, errors.New("killed")
		s.put = func(string) error {
			if n++; n > puts {
				return killed
			}
			return nil
		}
		if got, err := to.Replicate(t.Context(), from, dir(t)); !errors.Is(err, killed) || got != 0 {
			t.Errorf("after %d puts: %d copied: %v", puts, got, err)
		}
		if got, err := to.Present(t.Context(), one, 1); err != nil || len(got) != 0 {
			t.Errorf("after %d puts: %v, %v", puts, got, err)
		}
		s.put = nil
		replicated(t, to, from, 1)
		into := dir(t)
		if err := to.Fetch(t.Context(), into, one, 0); err != nil {
			t.Error(err)
		}
		same(t, into, all)
	}
}

// Of several calls at once, one copies each shard.
func TestReplicateAtOnce(t *testing.T) {
	from, _ := uploaded(t, storetest.NewDir(t.TempDir()), 4)
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	to, puts := New(s), make(map[string]int)
	var mu sync.Mutex
	s.put = func(key string) error {
		mu.Lock()
		defer mu.Unlock()
		puts[key]++
		return nil
	}
	var copied atomic.Int32
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() {
			n, err := to.Replicate(t.Context(), from, dir(t))
			copied.Add(int32(n))
			if err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if copied.Load() != 4 || len(puts) != 8 {
		t.Errorf("%d copied by %v", copied.Load(), puts)
	}
	for key, n := range puts {
		if n != 1 {
			t.Errorf("%s was put %d times", key, n)
		}
	}
}

// Where the other depot does not answer, or the context ends, the call ends with that.
func TestReplicateAway(t *testing.T) {
	s := &faulty{Store: storetest.NewDir(t.TempDir())}
	from, _ := uploaded(t, s, 1)
	ctx, cancel := context.WithCancel(t.Context())
	s.get = func(_ int32, r io.ReadCloser) (io.ReadCloser, error) {
		cancel()
		return nil, errors.Join(os.ErrDeadlineExceeded, r.Close())
	}
	to := New(storetest.NewDir(t.TempDir()))
	if got, err := to.Replicate(ctx, from, dir(t)); !errors.Is(err, context.Canceled) || got != 0 {
		t.Errorf("%d copied: %v", got, err)
	}
}
