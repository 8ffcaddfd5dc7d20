package registry

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
)

// Many add, promote, prune and read at once, each as a process of its own would. All who add
// a key get the same version, and no reader sees a registry with half of a change.
func TestConcurrent(t *testing.T) {
	dir := t.TempDir()
	add(t, open(t, dir), "vn1d", 0)
	var all sync.WaitGroup
	var mu sync.Mutex
	numbers := make(map[int]map[int]bool) // by seed
	for range 4 {
		all.Go(func() {
			r := open(t, dir)
			for seed := range 8 {
				v := add(t, r, "vn1d", seed)
				mu.Lock()
				if numbers[seed] == nil {
					numbers[seed] = make(map[int]bool)
				}
				numbers[seed][v.Number] = true
				mu.Unlock()
				if err := r.Promote(t.Context(), Promotion{Model: "vn1d", Number: v.Number}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	ctx, stop := context.WithCancel(t.Context())
	var beside sync.WaitGroup
	beside.Go(func() {
		r := open(t, dir)
		for ctx.Err() == nil {
			if _, err := r.Prune(ctx, 100, false); err != nil && !errors.Is(err, context.Canceled) { // weights that are not published yet
				t.Error(err)
			}
		}
	})
	for range 2 {
		beside.Go(func() {
			r := open(t, dir)
			for ctx.Err() == nil {
				if _, err := r.Verify(ctx); err != nil && !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
	stop()
	beside.Wait()
	for seed, given := range numbers {
		if len(given) != 1 {
			t.Errorf("seed %d became versions %v", seed, given)
		}
	}
	if found := verified(t, open(t, dir)); found.Versions != 8 || found.Weights != 8 {
		t.Errorf("%+v", found)
	}
}

// Of many who want the lock one has it at a time, and fencing numbers grow.
func TestLockExcludes(t *testing.T) {
	dir := t.TempDir()
	var holders atomic.Int32
	var last atomic.Uint64
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			r := open(t, dir)
			for range 2 {
				lease, err := r.Lock(t.Context(), "vn1d", Self(fmt.Sprint(i)), Wait)
				if err != nil {
					t.Error(err)
					return
				}
				if n := holders.Add(1); n != 1 || lease.Fence <= last.Load() || lease.Took != "" {
					t.Errorf("%d holders, lease %+v after %d", n, lease, last.Load())
				}
				last.Store(lease.Fence)
				holders.Add(-1)
				if err := lease.Release(t.Context()); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

// An outline is read as it was written, and no bytes make its reader fail otherwise than
// with ErrCorrupt.
func FuzzOutline(f *testing.F) {
	v := example("vn1d", 1)
	v.Weights = Weights{SHA256: describe(nil).SHA256, Bytes: 7}
	v.Pinned, v.Tags = true, map[string]string{"a": "b"}
	f.Add(v.outline()[sealSize:])
	f.Fuzz(func(t *testing.T, message []byte) {
		record := append(seal(message), message...)
		v, err := readOutline(record)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			return
		}
		again, err := readOutline(v.outline())
		if err != nil || fmt.Sprint(again) != fmt.Sprint(v) {
			t.Fatalf("%+v, error %v, want %+v", again, err, v)
		}
	})
}
