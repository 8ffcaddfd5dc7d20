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
		mebibytes                   uint64
	}{
		{"vn1d", "smoke", backend.XLACPU, 150},
		{"vn1d", "demo", backend.XLACPU, 316},
		{"vn1d", "full", backend.XLACPU, 458},
		{"rare1d", "demo", backend.XLACPU, 481},
		{"rare1d", "full", backend.XLACPU, 815},
		{"cn2d", "scaled", backend.XLACPU, 638},
		{"cn2d", "full", backend.XLACPU, 3018},
		{"cn2d_grid", "full", backend.XLACPU, 1346},
		{"cn2d_transfer", "full", backend.XLACPU, 2435},
		{"particles64d", "scaled", backend.XLACPU, 1033},
		{"vn1d", "demo", backend.Go, 129},
		{"rare1d", "demo", backend.Go, 353},
	} {
		e, err := experiment.Load(c.experiment, c.preset, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		functions := e.Training.BatchFunctions
		if most := e.Training.MicroBatch; most > 0 {
			functions = min(functions, most)
		}
		got := e.Trainer().Memory(c.backend, functions) >> 20
		report := t.Logf
		if 10*got < 7*c.mebibytes || 10*got > 12*c.mebibytes {
			report = t.Errorf
		}
		report("%s %s on %s: %d MiB, measured %d MiB", c.experiment, c.preset, c.backend, got, c.mebibytes)
	}
	if least := trainer.LeastMemory(backend.XLACUDA); least != 0 {
		t.Errorf("a GPU needs %d bytes of the host's memory", least)
	}
}
