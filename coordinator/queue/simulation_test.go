package queue

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds  = flag.Uint64("seeds", 300, "number of seeds")
	replay = flag.Int64("seed", -1, "replay this seed, and print its trace")
)

// worlds is how many seeds are simulated.
func worlds() uint64 {
	if testing.Short() {
		return min(*seeds, 50)
	}
	return *seeds
}

// tell prints what happened in one world, and how it broke.
func tell(t *testing.T, seed uint64, trace []string, broken string) {
	t.Helper()
	t.Logf("seed %d\n%s", seed, strings.Join(trace, "\n"))
	if broken != "" {
		t.Errorf("seed %d: %s", seed, broken)
	}
}

// TestSimulation runs the queue in many worlds, each of which follows from its seed.
func TestSimulation(t *testing.T) {
	if *replay >= 0 {
		w := newWorld(uint64(*replay), true)
		w.run()
		tell(t, w.seed, w.trace, w.broken)
		return
	}
	count := worlds()
	var next atomic.Uint64
	var failed atomic.Pointer[world]
	var mu sync.Mutex
	happened := map[string]int{}
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			for failed.Load() == nil {
				seed := next.Add(1) - 1
				if seed >= count {
					return
				}
				w := newWorld(seed, false)
				w.run()
				mu.Lock()
				for what, n := range w.happened {
					happened[what] += n
				}
				mu.Unlock()
				if w.broken != "" {
					failed.Store(w)
				}
			}
		})
	}
	group.Wait()
	if w := failed.Load(); w != nil {
		w = newWorld(w.seed, true)
		w.run()
		t.Fatalf("seed %d: %s\nthe end of its trace:\n%s\nall of it: make simulate SEED=%d", w.seed, w.broken, strings.Join(w.trace[max(0, len(w.trace)-120):], "\n"), w.seed)
	}
	t.Logf("%d seeds: %v", count, happened)
	for _, what := range []string{"restart", "lost effects", "clock back", "clock ahead", "finished twice", "crash", "catch-up", "skipped", "replaced", "paused itself", "pruned", "beside others", "deposed", "could not persist"} {
		if count >= 300 && happened[what] == 0 {
			t.Errorf("no world had: %s", what)
		}
	}
}
