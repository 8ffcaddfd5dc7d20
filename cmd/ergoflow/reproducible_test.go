package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/state"
)

// TestReproducible: with --reproducible one, two and three workers, and three of
// which one is killed, train the same bits, on every backend.
func TestReproducible(t *testing.T) {
	for _, name := range []string{backend.Go, backend.XLACPU} {
		t.Run(name, func(t *testing.T) {
			b, err := backend.Open(name)
			if err != nil {
				t.Skipf("without %s: %v", name, err)
			}
			b.Close()
			train := func(workers int) *cluster {
				dir := t.TempDir()
				// Groups of two shards, and long enough to be disturbed.
				return start(t, dir, []string{"train", "vn1d", "--preset", "smoke", "--backend", name, "--reproducible",
					"--local", "--dir", dir, "--workers", fmt.Sprint(workers),
					"--set", "data.shards=16", "--set", "training.batch_functions=32", "--set", "training.steps=150",
					"--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50"})
			}
			one := train(1)
			one.end()
			want := final(t, one.dir)
			for workers := 2; workers <= 3; workers++ {
				c := train(workers)
				c.end()
				equalBits(t, fmt.Sprintf("%d workers", workers), final(t, c.dir), want)
			}

			c := train(3)
			st := c.until("step 20", training(3, 20))
			victim := st.Workers[slices.IndexFunc(st.Workers, func(w machine.WorkerStatus) bool { return w.Rank == 0 })]
			syscall.Kill(victim.PID, syscall.SIGKILL)
			c.until("another generation", func(s coordinator.Status) bool { return s.Generation > st.Generation && s.Step > st.Step })
			c.end()
			equalBits(t, "after a SIGKILL", final(t, c.dir), want)
			if p := proven(t, c.dir); p.Generations < 2 {
				t.Errorf("%d generations in spite of the SIGKILL", p.Generations)
			}
		})
	}
}

func equalBits(t *testing.T, what string, got, want *state.State) {
	t.Helper()
	if got.Step != want.Step || !slices.Equal(got.Losses, want.Losses) {
		t.Errorf("%s: other losses", what)
	}
	if !slices.Equal(got.Parameters, want.Parameters) || !slices.Equal(got.M, want.M) || !slices.Equal(got.V, want.V) {
		t.Errorf("%s: other parameters or moments", what)
	}
}
