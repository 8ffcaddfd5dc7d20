package replica

import (
	"context"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
)

// The records of all ranks' batches account for every block once, for any placement
// of the shards. Held-out functions in between change the numbers.
func TestBatchesAreRecorded(t *testing.T) {
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
				if proof, err := l.Verify(t.Context(), r.experiment.LedgerBatches(), n); err != nil {
					t.Errorf("%v: %v", membership, err)
				} else if proof.Blocks != int64(n*r.batchPlan.BatchFunctions) {
					t.Errorf("%v: %d blocks", membership, proof.Blocks)
				}
			}
		})
	}
}

// usedBy are the records of a rank's first n steps.
func usedBy(t *testing.T, r *Replica, rank int, shards []int, n int) (records []ledger.Record) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	p := r.Batches(ctx, shards)
	defer p.Wait()
	defer cancel()
	for range n {
		b, err := p.Next(ctx)
		if err != nil {
			t.Fatal(err)
		}
		used := ledger.NewRecord(r.plan.Shards)
		for _, m := range b.Micro {
			used.Add(rank, m.Uses)
		}
		records = append(records, used)
		p.Recycle(b)
	}
	return records
}
