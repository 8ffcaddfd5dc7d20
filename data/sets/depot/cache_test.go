package depot

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/store/storetest"
)

// Shards of other data sets make room, those that were used longest ago first. Those in use stay,
// and so do their mappings.
func TestCacheIsBounded(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	d, all := uploaded(t, s, 2)
	size := all[0].Bytes
	c := cache(t, 4*size+10)
	var old []shard.Manifest
	for k := range 4 {
		m := makeShard(t, c.Dir(), two, k, 0)
		old = append(old, m)
	}
	if err := c.Dir().Touch(old[0]); err != nil { // the first is used last
		t.Fatal(err)
	}
	mapped, err := c.Dir().Open(two, 1)
	if err != nil {
		t.Fatal(err)
	}
	defer mapped.Close()
	if err := c.Fill(t.Context(), d, one, 0, 1); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	for k, want := range []bool{true, false, false, true} {
		if got := c.Dir().Has(two, k); got != want {
			t.Errorf("shard %d: %v", k, got)
		}
	}
	if got := mapped.Samples(3)[7]; got != 7 {
		t.Errorf("a mapping has %g", got)
	}
	makeShard(t, c.Dir(), one, 2, 0)
	makeShard(t, c.Dir(), one, 3, 0)
	makeShard(t, c.Dir(), one, 4, 0)
	if err := c.Trim(); err != nil {
		t.Fatal(err)
	}
	for k := range 5 {
		if !c.Dir().Has(one, k) {
			t.Errorf("shard %d is in use, and gone", k)
		}
	}
	if c.Dir().Has(two, 0) || c.Dir().Has(two, 3) {
		t.Error("the cache is not bounded")
	}
	small := cache(t, size)
	if err := small.Fill(t.Context(), d, one, 0, 1); !errors.Is(err, ErrSmall) {
		t.Error(err)
	}
	if kept, err := small.Dir().Kept(); err != nil || len(kept) != 0 {
		t.Errorf("%v, %v", kept, err)
	}
}

// Processes that share a directory have caches of their own, and find their shards again.
func TestCachesOfOneDirectory(t *testing.T) {
	root, log := t.TempDir(), slog.New(slog.DiscardHandler)
	open := func() *Cache {
		c, err := OpenCache(root, 1<<30, log)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	first, second := open(), open()
	if first.Dir().Root() == second.Dir().Root() {
		t.Fatal("two caches in one directory")
	}
	m := makeShard(t, first.Dir(), one, 0, 0)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	third := open()
	same(t, third.Dir(), []shard.Manifest{m})
	for _, c := range []*Cache{second, third} {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenCache(file, 1, log); err == nil {
		t.Error("a file is no directory")
	}
}

// A damaged copy is replaced, and one of another writer's bytes.
func TestDamagedCopy(t *testing.T) {
	s := storetest.NewDir(t.TempDir())
	d, all := uploaded(t, s, 1)
	c := cache(t, 1<<30)
	makeShard(t, c.Dir(), one, 0, 9)
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	path := filepath.Join(c.Dir().Root(), "vn1d-"+one, "shard-00000.safetensors")
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	if err := c.Fill(t.Context(), d, one, 0); err != nil {
		t.Fatal(err)
	}
	same(t, c.Dir(), all)
	if names, err := filepath.Glob(filepath.Join(c.Dir().Root(), "*", ".*")); err != nil || len(names) != 0 {
		t.Errorf("left: %v, %v", names, err)
	}
}
