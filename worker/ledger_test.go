package worker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// verify proves a ledger from the experiment alone.
func verify(t *testing.T, e experiment.Experiment, l ledger.Ledger, step ergoflow.Step) (ledger.Proof, error) {
	t.Helper()
	return l.Verify(t.Context(), ledger.Batches{
		Plan:  e.BatchPlan(),
		First: func(shard int) int { first, _ := e.Data.ShardRange(shard); return first },
	}, step)
}

// What prefetchers take from the shards, in whatever membership, accounts for
// every block once. Held-out functions in between change the numbers.
func TestWhatIsTakenIsAccountedFor(t *testing.T) {
	for name, sets := range map[string][]string{
		"vn1d": {"data.held_out_from=64"}, "cn2d": {"training.coupling=independent"}, "rare1d": {"training.coupling=quantile"},
	} {
		t.Run(name, func(t *testing.T) {
			r := dataReplicaOf(t, name, sets...)
			const n = 6
			var l ledger.Ledger
			for _, membership := range [][][]int{{{0, 2}, {1, 3}}, {{3, 0, 1}, {2}}} {
				var records [n]ledger.Record
				for rank, shards := range membership {
					for step, used := range usedBy(t, r, rank, shards, n) {
						if rank == 0 {
							records[step] = ledger.NewRecord(r.plan.Shards)
						}
						for i, x := range used {
							records[step][i] += x
						}
					}
				}
				l = ledger.Ledger{}
				for step, record := range records {
					l.Append(ergoflow.Step(step), 1, []ergoflow.WorkerID{"a", "b"}, record)
				}
				if proof, err := verify(t, r.experiment, l, n); err != nil {
					t.Errorf("%v: %v", membership, err)
				} else if proof.Blocks != int64(n*r.batches.BatchFunctions) {
					t.Errorf("%v: %d blocks", membership, proof.Blocks)
				}
			}
		})
	}
}

// usedBy are the records of a rank's first n steps.
func usedBy(t *testing.T, r *replica, rank int, shards []int, n int) (records []ledger.Record) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := prefetch(ctx, r, shards)
	defer p.wait()
	defer cancel()
	for range n {
		b, err := p.next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		used := ledger.NewRecord(r.plan.Shards)
		for _, m := range b.micro {
			used.Add(rank, m.Uses)
		}
		records = append(records, used)
		p.recycle(b)
	}
	return records
}

// A worker that computes a batch twice and leaves the next one out is found in
// the state of a cluster that noticed nothing.
func TestRepeatedStepIsFound(t *testing.T) {
	const repeated = 8
	h := startHarness(t)
	h.worker()
	var last []flow.Batch
	h.spoiled(func(b *stepBatch) {
		if b.step == repeated {
			for i, m := range b.micro {
				*m = last[i]
			}
			return
		}
		last = last[:0]
		for _, m := range b.micro {
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
	_, err := verify(t, e, st.Ledger, st.Step)
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

// proven fails the test unless the state has learned from everything once.
func proven(t *testing.T, e experiment.Experiment, st *state.State) ledger.Proof {
	t.Helper()
	proof, err := verify(t, e, st.Ledger, st.Step)
	if err != nil {
		t.Error(err)
	}
	return proof
}
