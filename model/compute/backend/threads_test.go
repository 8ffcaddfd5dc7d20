package backend

import (
	"runtime"
	"testing"
)

// XLA has no more threads than Go, unless the user wants that.
func TestFitThreads(t *testing.T) {
	all := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(all)
	for _, c := range []struct {
		given string
		procs int
		want  int
	}{
		{"", runtime.NumCPU(), 0}, {"", runtime.NumCPU() - 1, runtime.NumCPU() - 1}, {"7", 1, 7},
	} {
		if c.procs == 0 { // a machine with one processor
			continue
		}
		t.Setenv(poolVariable, c.given)
		runtime.GOMAXPROCS(c.procs)
		if fitThreads(); Threads() != c.want {
			t.Errorf("%q, %d of %d processors: %d threads, want %d", c.given, c.procs, runtime.NumCPU(), Threads(), c.want)
		}
	}
}
