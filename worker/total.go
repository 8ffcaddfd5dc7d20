package worker

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/model/training/train"
)

// total computes the gradient of this rank's part of the batch and adds it up
// over the ranks, bucket by bucket, and with it the account of what it was made of.
func (r *rank) total(ctx context.Context, at ergoflow.Step, b *stepBatch) (err error) {
	if r.replica.reproducible() {
		return r.totalInFixedPoint(ctx, at, b)
	}
	if r.used, err = r.replica.gradient(ctx, int(r.assign.Rank), b); err != nil {
		return fmt.Errorf("gradient of step %d: %w", at, err)
	}
	r.timing.Gradient = r.watch.lap()
	r.sum = r.replica.sum
	left := len(r.sum)
	for bucket, err := range r.replica.copied() {
		if err != nil {
			return fmt.Errorf("gradient of step %d: %w", at, err)
		}
		r.timing.Copy += r.watch.lap()
		left -= len(bucket)
		if err := reduce(r.ring, at, bucket, left == 0); err != nil {
			return err
		}
		r.timing.Ring += r.watch.lap()
	}
	if err := r.ring.AllReduceInt64(at, r.used); err != nil {
		return err
	}
	r.timing.Ring += r.watch.lap()
	return nil
}

// reduce sums a bucket of the vector [P+2] over the ranks. Where the wire rounds, the
// loss and the number of samples, the last two of the last bucket, go by themselves:
// short vectors are not rounded, and a count must not be.
func reduce(ring *allreduce.Ring, at ergoflow.Step, bucket []float32, last bool) error {
	if !last || ring.Wire() == allreduce.Float32 {
		return ring.AllReduce(at, bucket)
	}
	size := len(bucket) - 2
	if err := ring.AllReduce(at, bucket[:size]); err != nil {
		return err
	}
	return ring.AllReduce(at, bucket[size:])
}

// totalInFixedPoint is total where training is reproducible.
func (r *rank) totalInFixedPoint(ctx context.Context, at ergoflow.Step, b *stepBatch) error {
	for level := range levels {
		words, err := r.replica.fixedGradient(ctx, int(r.assign.Rank), b, level)
		if err != nil {
			return fmt.Errorf("gradient of step %d: %w", at, err)
		}
		r.timing.Gradient += r.watch.lap()
		if err := r.ring.AllReduceInt64(at, words); err != nil {
			return err
		}
		r.timing.Ring += r.watch.lap()
		var ok bool
		if r.sum, r.used, ok = r.replica.fixedTotal(words, level); ok {
			return nil
		}
	}
	return fmt.Errorf("step %d: %w: the gradient is not finite", at, train.ErrDiverged)
}

// workers of the generation, by rank.
func (r *rank) workers() []ergoflow.WorkerID {
	ids := make([]ergoflow.WorkerID, len(r.assign.Members))
	for i, m := range r.assign.Members {
		ids[i] = m.ID
	}
	return ids
}
