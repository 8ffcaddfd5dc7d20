//go:build linux && cgo

package trainer_test

import (
	"syscall"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
)

// XLA's temporary memory stays mapped between steps with no settings by the user. With
// glibc's defaults a step of this size faults 13,000 pages in.
func TestStepsDoNotFaultPagesIn(t *testing.T) {
	b := backendtest.Fast(t)
	if b.Name != backend.XLACPU {
		t.Log("pure Go takes its memory from Go's runtime")
		return
	}
	c := config(1)
	c.Model, c.Samples = deeponet.Paper(64), 32
	tr, _ := newTrainer(t, b, c)
	batch := noise(0, 64, c.Samples, c.Model)
	faults := func(steps int) int64 {
		var before, after syscall.Rusage
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &before); err != nil {
			t.Fatal(err)
		}
		for range steps {
			if err := tr.Accumulate(batch); err != nil {
				t.Fatal(err)
			}
		}
		if err := syscall.Getrusage(syscall.RUSAGE_SELF, &after); err != nil {
			t.Fatal(err)
		}
		return (after.Minflt - before.Minflt) / int64(steps)
	}
	// The heap grows until it suffices for every order in which XLA's threads free;
	// then the memory of steps is mapped.
	least := faults(3)
	for range 6 {
		least = min(least, faults(3))
	}
	if least > 1000 {
		t.Errorf("at least %d page faults per step", least)
	}
}
