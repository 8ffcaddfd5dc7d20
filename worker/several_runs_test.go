package worker

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// TestRunsSideBySide: two runs train at once, each with a worker. When one has ended, its
// worker moves to the other. The losses of both are those of the same runs alone.
func TestRunsSideBySide(t *testing.T) {
	// The long one still trains when a worker of the short one comes, and has compiled.
	short, long := []string{"training.steps=40"}, []string{"training.steps=2000", "seed=2"}
	alone := startHarness(t)
	alone.worker()
	var want []*state.State
	for _, sets := range [][]string{short, long} {
		e := alone.submit(sets...)
		alone.until("the end", func(st coordinator.Status) bool { return done(st) && st.Run == e.Hash() })
		want = append(want, alone.final(e.Hash()))
	}

	h := startHarness(t)
	h.worker()
	h.worker()
	h.until("two workers", func(st coordinator.Status) bool { return len(st.Workers) == 2 })
	first := h.submitFor(ergoflow.WorkerBounds{Min: 1, Max: 1}, short...)
	second := h.submit(long...)
	// On a fast machine the short one has made all its steps before the other's first.
	h.until("each has a worker", func(st coordinator.Status) bool {
		return len(st.Conducts) == 2 && st.Conducts[0].Workers == 1 && st.Conducts[1].Workers == 1
	})
	h.until("two workers for the second", func(st coordinator.Status) bool {
		return len(st.Conducts) == 1 && st.Run == second.Hash() && st.WorldSize == 2 && st.State == "training"
	})
	h.until("the end", done)
	for i, e := range []string{first.Hash(), second.Hash()} {
		got := h.final(e)
		if got.Step != want[i].Step {
			t.Fatalf("run %d ended at step %d instead of %d", i, got.Step, want[i].Step)
		}
		for k, loss := range want[i].Losses {
			if d := math.Abs(got.Losses[k] - loss); !(d <= 2e-4*loss) {
				t.Fatalf("run %d: the loss of step %d is %.8g instead of %.8g", i, k, got.Losses[k], loss)
			}
		}
	}
}
