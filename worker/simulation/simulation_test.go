package simulation

import (
	"flag"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

var (
	seeds  = flag.Uint64("seeds", 500, "number of seeds")
	replay = flag.Int64("seed", -1, "replay this seed, and print its trace")
)

func simulate(seed uint64, s sabotage, verbose bool) *world {
	w := newWorld(seed, s, verbose)
	w.run()
	return w
}

// maxTrace bounds the lines of a trace that a failure prints.
const maxTrace = 150

// TestSimulation runs the protocol in many worlds.
func TestSimulation(t *testing.T) {
	if *replay >= 0 {
		w := simulate(uint64(*replay), sabotage{}, true)
		t.Logf("seed %d: %+v, %d runs, the first with %d shards and %d steps\n%s",
			w.seed, w.weather, len(w.runs), w.runs[0].plan.Shards, w.runs[0].plan.Steps, w.trace.String())
		if w.broken != "" {
			t.Errorf("seed %d: %s", w.seed, w.broken)
		}
		return
	}
	count := *seeds
	if testing.Short() {
		count = min(count, 50)
	}
	var next atomic.Uint64
	var failed atomic.Pointer[world]
	happened := make([]map[string]int, runtime.GOMAXPROCS(0))
	var group sync.WaitGroup
	for i := range happened {
		happened[i] = map[string]int{}
		group.Go(func() {
			for failed.Load() == nil {
				seed := next.Add(1) - 1
				if seed >= count {
					return
				}
				w := simulate(seed, sabotage{}, false)
				for what, times := range w.happened {
					happened[i][what] += times
				}
				if w.broken != "" {
					failed.Store(w)
				}
			}
		})
	}
	group.Wait()
	if w := failed.Load(); w != nil {
		w = simulate(w.seed, sabotage{}, true)
		lines := strings.Split(strings.TrimSpace(w.trace.String()), "\n")
		t.Fatalf("seed %d: %s\nthe end of its trace:\n%s\nall of it: make simulate SEED=%d",
			w.seed, w.broken, strings.Join(lines[max(0, len(lines)-maxTrace):], "\n"), w.seed)
	}
	all := map[string]int{}
	for _, h := range happened {
		for what, times := range h {
			all[what] += times
		}
	}
	t.Logf("%d seeds: %v", count, all)
}
