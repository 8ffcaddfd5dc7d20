package replica

import (
	"context"
	"fmt"
	"iter"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Timing is what the parts of Compute took, in seconds.
type Timing struct{ Gradient, Copy, Ring float64 }

// Compute computes the gradient of this rank's part of a batch and sums it over
// the ranks of the ring, and with it the record of the samples used. It returns
// the next update, whose Generation and Workers the caller fills in, and whose Sum
// is valid until the next Compute. It ends with the cause of ctx's end.
func (r *Replica) Compute(ctx context.Context, ring *allreduce.Ring, b *Batch, watch *Stopwatch) (Update, Timing, error) {
	compute := r.computeFloat
	switch {
	case r.reproducible():
		compute = r.computeFixed
	case r.local():
		compute = r.computeRound
	}
	var timing Timing
	used, err := compute(ctx, ring, b, watch, &timing)
	return Update{Step: r.first(b.Step), Used: used, Sum: r.sum}, timing, err
}

// computeFloat sums in float32, bucket by bucket, into r.sum.
func (r *Replica) computeFloat(ctx context.Context, ring *allreduce.Ring, b *Batch, watch *Stopwatch, timing *Timing) (ledger.Record, error) {
	used, err := r.gradient(ctx, ring.Identity().Rank, b)
	if err != nil {
		return nil, fmt.Errorf("gradient of step %d: %w", b.Step, err)
	}
	timing.Gradient = watch.Lap()
	left := len(r.sum)
	for bucket, err := range r.buckets() {
		if err != nil {
			return nil, fmt.Errorf("gradient of step %d: %w", b.Step, err)
		}
		timing.Copy += watch.Lap()
		left -= len(bucket)
		if err := reduce(ring, b.Step, bucket, left == 0); err != nil {
			return nil, err
		}
		timing.Ring += watch.Lap()
	}
	if err := ring.AllReduceInt64(b.Step, used); err != nil {
		return nil, err
	}
	timing.Ring += watch.Lap()
	return used, nil
}

// reduce sums a bucket of the vector [P+2] over the ranks. Where the wire rounds,
// the last two numbers of the last bucket, loss and number of samples, go by
// themselves: short vectors are not rounded, and a count must not be.
func reduce(ring *allreduce.Ring, step ergoflow.Step, bucket []float32, last bool) error {
	if !last || ring.Wire() == allreduce.Float32 {
		return ring.AllReduce(step, bucket)
	}
	size := len(bucket) - 2
	if err := ring.AllReduce(step, bucket[:size]); err != nil {
		return err
	}
	return ring.AllReduce(step, bucket[size:])
}

// gradient sums the gradients of all micro-batches on the device, and returns the
// record of their samples.
func (r *Replica) gradient(ctx context.Context, rank int, b *Batch) (ledger.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := ledger.NewRecord(r.plan.Shards)
	return used, r.accumulate(ctx, rank, b.Micro, used)
}

// accumulate sums the gradients of micro-batches on the device and enters their
// samples into used; mu is held.
func (r *Replica) accumulate(ctx context.Context, rank int, micro []*flow.Batch, used ledger.Record) error {
	r.trainer.Reset() // a step that was interrupted has left a sum
	for _, m := range micro {
		if ctx.Err() != nil { // the end of a generation does not wait for the rest of a long step
			return context.Cause(ctx)
		}
		if err := r.trainer.Accumulate(m); err != nil {
			return err
		}
		used.Add(rank, m.Uses)
	}
	return nil
}

// buckets yields the buckets of the gradient's sum [P+2] in turn, as parts of
// r.sum. While the caller has one, the arrays after it are copied from the device.
func (r *Replica) buckets() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		arrays := r.trainer.Arrays(r.sum)
		arrived := make(chan error, len(arrays)) // has room for all, so that copying never waits
		go func() {
			for k, array := range arrays {
				arrived <- r.copyArray(array, k)
			}
		}()
		wanted := true
		for _, array := range arrays { // all of them: then the goroutine has ended
			err := <-arrived
			for _, bucket := range trainer.Buckets(array) {
				wanted = wanted && yield(bucket, err)
			}
		}
	}
}

// copyArray copies array k of the sum to the host.
func (r *Replica) copyArray(dst []float32, k int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trainer.DownloadArray(dst, k)
}
