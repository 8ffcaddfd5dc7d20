package trainer_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// The estimates are near the figures of docs/operations.md, which were measured.
func TestMemory(t *testing.T) {
	for _, c := range []struct {
		experiment, preset, backend string
		functions                   int
		mebibytes                   uint64
	}{
		{"vn1d", "smoke", backend.XLACPU, 8, 150},
		{"vn1d", "demo", backend.XLACPU, 32, 316},
		{"vn1d", "full", backend.XLACPU, 256, 458},
		{"rare1d", "demo", backend.XLACPU, 32, 481},
		{"rare1d", "full", backend.XLACPU, 256, 815},
		{"vn1d", "demo", backend.Go, 32, 129},
		{"rare1d", "demo", backend.Go, 32, 353},
	} {
		e, err := experiment.Load(c.experiment, c.preset, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := e.Trainer().Memory(c.backend, c.functions) >> 20
		if got < c.mebibytes*3/4 || got > c.mebibytes*5/4 {
			t.Errorf("%s %s on %s: %d MiB, measured %d MiB", c.experiment, c.preset, c.backend, got, c.mebibytes)
		}
		t.Logf("%s %s on %s: %d MiB, measured %d MiB", c.experiment, c.preset, c.backend, got, c.mebibytes)
	}
	if least := trainer.LeastMemory(backend.XLACUDA); least != 0 {
		t.Errorf("a GPU needs %d bytes of the host's memory", least)
	}
}
