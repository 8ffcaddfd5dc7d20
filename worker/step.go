package worker

import (
	"context"
	"iter"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/train"
)

// What a replica does in a step: its part of the gradient on the device, copied to
// the host for the ring, and the update by the sum over all ranks.

// gradient adds up the micro-batches on the device, and accounts for what that
// was made of. It ends between two of them with the cause of ctx's end.
func (r *replica) gradient(ctx context.Context, rank int, b *stepBatch) (ledger.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := ledger.NewRecord(r.plan.Shards)
	return used, r.accumulate(ctx, rank, b.micro, used)
}

// copied yields the buckets of the sum [P+2] of gradient in turn, as parts of r.sum.
// While the caller has one, those that are arrays of their own on the device are
// copied to the host.
func (r *replica) copied() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		arrays := r.trainer.Arrays(r.sum)
		arrived := make(chan error, len(arrays)) // the copier never waits
		go func() {
			for k, array := range arrays {
				arrived <- r.copyArray(array, k)
			}
		}()
		wanted := true
		for _, array := range arrays { // all of them: then the copier has ended
			err := <-arrived
			for _, bucket := range train.Buckets(array) {
				wanted = wanted && yield(bucket, err)
			}
		}
	}
}

func (r *replica) copyArray(dst []float32, k int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trainer.TakeArray(dst, k)
}

// accumulate adds up gradients on the device, and enters what the device was
// given.
func (r *replica) accumulate(ctx context.Context, rank int, micro []*flow.Batch, used ledger.Record) error {
	r.trainer.Reset() // of a step that was interrupted
	for _, m := range micro {
		if ctx.Err() != nil { // what ends a generation need not wait for the rest of a long step
			return context.Cause(ctx)
		}
		if err := r.trainer.Gradient(m); err != nil {
			return err
		}
		used.Add(rank, m.Uses)
	}
	return nil
}

// apply updates the state by the sum over all ranks, enters what they used as
// workers of generation g, and returns the batch's mean loss and number of
// samples.
func (r *replica) apply(sum []float32, used ledger.Record, g ergoflow.Generation, workers []ergoflow.WorkerID) (loss float64, samples int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	step := ergoflow.Step(len(r.losses))
	if err := r.trainer.Apply(sum, int64(step)); err != nil {
		return 0, 0, err
	}
	loss, count := train.Loss(sum)
	r.ledger.Append(step, g, workers, used)
	r.tell(step, g, workers, used, sum)
	r.losses, r.made = append(r.losses, loss), g
	return loss, int64(count), nil
}
