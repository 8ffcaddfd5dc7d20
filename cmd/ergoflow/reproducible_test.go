package main

import (
	"fmt"
	"slices"
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// reproducibly trains with a backend and --reproducible, on groups of two shards
// and long enough to be disturbed.
func reproducibly(t *testing.T, name string, workers, steps int) *cluster {
	t.Helper()
	dir := t.TempDir()
	return start(t, dir, []string{"train", "vn1d", "--preset", "smoke", "--backend", name, "--reproducible",
		"--local", "--dir", dir, "--workers", fmt.Sprint(workers),
		"--set", "data.shards=16", "--set", "training.batch_functions=32", "--set", fmt.Sprintf("training.steps=%d", steps),
		"--set", "data.training.burn_in=50", "--set", "data.reference.burn_in=50"})
}

// TestReproducible: with --reproducible one worker, and three of which one is killed, train
// the same bits on every backend. Sums over two and three undisturbed workers are the same
// code on each backend, so they run on one alone.
func TestReproducible(t *testing.T) {
	needE2E(t)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const steps = 150
		one := reproducibly(t, b.Name, 1, steps)
		one.end()
		want := final(t, one.dir)
		for workers := 2; workers <= 3 && b.Name == backend.Go; workers++ {
			c := reproducibly(t, b.Name, workers, steps)
			c.end()
			equalBits(t, fmt.Sprintf("%d workers", workers), final(t, c.dir), want)
		}

		c := reproducibly(t, b.Name, 3, steps)
		st := c.until("step 20", training(3, 20))
		syscall.Kill(ranked(st, 0), syscall.SIGKILL)
		c.until("another generation", func(s coordinator.Status) bool { return s.Generation > st.Generation && s.Step > st.Step })
		c.end()
		equalBits(t, "after a SIGKILL", final(t, c.dir), want)
		if p := proven(t, c.dir); p.Generations < 2 {
			t.Errorf("%d generations in spite of the SIGKILL", p.Generations)
		}
	})
}

// TestReproducibleHistory: the bits are the same when workers join one by one until there
// are eight, two are killed at once, and others drain.
func TestReproducibleHistory(t *testing.T) {
	needE2E(t)
	const steps = 200
	one := reproducibly(t, backend.Go, 1, steps)
	one.end()

	c := reproducibly(t, backend.Go, 1, steps)
	// The ledger has the generations that made a step.
	step := func(workers int) coordinator.Status {
		formed := c.until(fmt.Sprintf("%d workers", workers), training(workers, 0))
		return c.until("a step of theirs", training(workers, int(formed.Step)+1))
	}
	st := step(1)
	for workers := 2; workers <= 8; workers++ {
		c.join()
		st = step(workers)
	}
	syscall.Kill(ranked(st, 0), syscall.SIGKILL)
	syscall.Kill(ranked(st, 5), syscall.SIGKILL)
	st = step(6)
	syscall.Kill(ranked(st, 3), syscall.SIGTERM)
	syscall.Kill(ranked(st, 4), syscall.SIGTERM)
	step(4)
	c.end()
	equalBits(t, "after joins, kills and drains", final(t, c.dir), final(t, one.dir))
	if p := proven(t, c.dir); p.Generations < 10 || p.Workers < 8 {
		t.Errorf("the ledger lacks generations or workers: %+v", p)
	}
}

// ranked is the process of the worker of a rank.
func ranked(st coordinator.Status, rank int) int {
	return st.Workers[slices.IndexFunc(st.Workers, func(w machine.WorkerStatus) bool { return w.Rank == rank })].PID
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
