package worker

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/worker/replica"
)

// The ledger of a state shows that a worker computed one batch twice and skipped
// the next, which nothing in the cluster notices.
func TestRepeatedStepIsFound(t *testing.T) {
	const repeated = 8
	h := startHarness(t)
	h.worker()
	var last []flow.Batch
	h.changedBatches(func(b *replica.Batch) {
		if b.Step == repeated {
			for i, m := range b.Micro {
				*m = last[i]
			}
			return
		}
		last = last[:0]
		for _, m := range b.Micro {
			c := *m
			c.X0, c.X1, c.T, c.Uses = slices.Clone(m.X0), slices.Clone(m.X1), slices.Clone(m.T), slices.Clone(m.Uses)
			c.Inputs = make([][]float32, len(m.Inputs))
			for k, values := range m.Inputs {
				c.Inputs[k] = slices.Clone(values)
			}
			last = append(last, c)
		}
	})
	h.until("two workers", func(st coordinator.Status) bool { return len(st.Workers) == 2 })
	e := h.submit("training.steps=20")
	h.until("the end", done)
	st := h.final(e.Hash())
	_, err := st.Ledger.Verify(t.Context(), e.LedgerBatches(), st.Step)
	var v *ledger.Violation
	if !errors.As(err, &v) {
		t.Fatalf("not a violation: %v", err)
	}
	for _, text := range []string{fmt.Sprintf("step %d: epoch 0, function ", repeated), fmt.Sprintf("which took the batch of step %d ", repeated-1)} {
		if !strings.Contains(v.Error(), text) {
			t.Errorf("%q is not in: %v", text, v)
		}
	}
}

// proven fails the test unless the state has used every sample once.
func proven(t *testing.T, e experiment.Experiment, st *state.State) ledger.Proof {
	t.Helper()
	proof, err := st.Ledger.Verify(t.Context(), e.LedgerBatches(), st.Step)
	if err != nil {
		t.Error(err)
	}
	return proof
}
