package replica

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Local steps (training.sync_every). A round is LocalSteps steps, which each rank takes on
// its own part of the batches with its own copy of the parameters. Then the ring sums, and
// every rank updates the shared state by the sum alone. So the state is the same on all
// ranks after each round, as after each step elsewhere; a round that is interrupted leaves
// nothing behind.

// Adam's moments begin at zero in each round, with its bias correction, so they are no part of
// what the ranks share: docs/decisions/local-steps.md.

// shared is the training state of a run with local steps. It is on the host: the device has
// the copy that a round changes.
type shared struct{ theta, velocity []float32 } // [P] each

// A round is what this rank has done since the last sum.
type round struct {
	gradient []float32 // [P+2], of one step
	used     []int64   // the records of its steps, one after another
}

// LocalSteps is the number of steps between two sums over the ranks; usually one.
func (r *Replica) LocalSteps() int { return r.experiment.LocalSteps() }

// local reports whether a rank takes several steps between two sums.
func (r *Replica) local() bool { return r.LocalSteps() > 1 }

// BucketBytes is the size of the longest vector that ranks sum at once.
func (r *Replica) BucketBytes() int64 { return int64(4 * trainer.LongestBucket(r.SumLength())) }

// SumLength is the length of an Update's Sum, [P+H+1] for rounds of H steps. Of one step it is
// the gradient, loss and number of samples. Of a round it is every rank's change of the
// parameters times its number n of samples in a step, then the loss of each step, and n.
func (r *Replica) SumLength() int { return r.Size() + r.LocalSteps() + 1 }

// Local takes one of a round's steps before its last, for which there is Compute.
func (r *Replica) Local(ctx context.Context, rank int, b *Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.localStep(ctx, rank, b)
}

// localStep updates this rank's copy of the parameters; mu is held.
func (r *Replica) localStep(ctx context.Context, rank int, b *Batch) error {
	steps, size := r.LocalSteps(), r.Size()
	at := int(b.Step) % steps
	if at == 0 {
		if err := r.trainer.SetState(r.shared.theta, make([]float32, size), make([]float32, size)); err != nil {
			return err
		}
		clear(r.round.used)
		clear(r.sum)
	}
	if len(b.Micro) == 0 {
		return nil
	}
	used := ledger.Record(r.round.used[at*2*r.plan.Shards:][:2*r.plan.Shards])
	if err := r.accumulate(ctx, rank, b.Micro, used); err != nil {
		return fmt.Errorf("gradient of step %d: %w", b.Step, err)
	}
	if err := r.trainer.TakeSum(r.round.gradient); err != nil {
		return fmt.Errorf("gradient of step %d: %w", b.Step, err)
	}
	tail := r.sum[size:]
	tail[at], tail[steps] = r.round.gradient[size], r.round.gradient[size+1]
	if err := r.trainer.Apply(r.round.gradient, int64(b.Step)); err != nil {
		return fmt.Errorf("local update of step %d: %w", b.Step, err)
	}
	return nil
}

// computeRound takes the last step of a round, and sums what the ranks have learned in it.
func (r *Replica) computeRound(ctx context.Context, ring *allreduce.Ring, b *Batch, watch *Stopwatch, timing *Timing) (ledger.Record, error) {
	if err := r.finishRound(ctx, ring.Identity().Rank, b); err != nil {
		return nil, err
	}
	timing.Gradient = watch.Lap()
	for _, bucket := range trainer.Buckets(r.sum[:r.Size()]) {
		if err := ring.AllReduce(b.Step, bucket); err != nil {
			return nil, err
		}
	}
	if err := ring.AllReduce(b.Step, r.sum[r.Size():]); err != nil { // short, so no wire rounds it
		return nil, err
	}
	used := slices.Clone(r.round.used)
	if err := ring.AllReduceInt64(b.Step, used); err != nil {
		return nil, err
	}
	timing.Ring = watch.Lap()
	return used, nil
}

// finishRound leaves this rank's part of the sum in r.sum.
func (r *Replica) finishRound(ctx context.Context, rank int, b *Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.localStep(ctx, rank, b); err != nil {
		return err
	}
	theta := r.sum[:r.Size()]
	if err := r.trainer.State(theta, nil, nil); err != nil {
		return err
	}
	n := r.sum[len(r.sum)-1]
	for i := range theta {
		theta[i] = n * (theta[i] - r.shared.theta[i])
	}
	return nil
}

// applyRound updates the shared state by the sum of a round, and returns the mean loss of each
// of its steps and the number of samples of each. On an error the state is as before.
func (r *Replica) applyRound(u Update) (losses []float64, samples float64, err error) {
	if len(u.Sum) != r.SumLength() {
		return nil, 0, fmt.Errorf("sum has %d values instead of %d", len(u.Sum), r.SumLength())
	}
	for _, x := range u.Sum {
		if x-x != 0 { // NaN or infinite
			return nil, 0, fmt.Errorf("round of step %d: %w: the sum has %g", u.Step, trainer.ErrDiverged, x)
		}
	}
	size, n := r.Size(), u.Sum[len(u.Sum)-1]
	if n <= 0 {
		return nil, 0, fmt.Errorf("round of step %d: batches of %g samples", u.Step, n)
	}
	mean := make([]float32, size)
	for i := range mean {
		mean[i] = u.Sum[i] / n
	}
	r.experiment.Outer().Update(r.shared.theta, r.shared.velocity, mean)
	for _, loss := range u.Sum[size : len(u.Sum)-1] {
		losses = append(losses, float64(loss)/float64(n))
	}
	return losses, float64(n), nil
}

// takeVectors takes over a state's parameters and moments; mu is held. With local steps a
// state at step 0 has no velocity yet.
func (r *Replica) takeVectors(st *state.State) error {
	if !r.local() {
		return r.trainer.SetState(st.Parameters, st.M, st.V)
	}
	velocity := slices.Clone(st.Outer)
	if velocity == nil {
		velocity = make([]float32, r.Size())
	}
	r.shared = shared{slices.Clone(st.Parameters), velocity}
	return nil
}

// copyVectors copies the parameters, and unless they are nil the moments, of the state into
// vectors of zeros; mu is held.
func (r *Replica) copyVectors(theta, m, v []float32) error {
	if !r.local() {
		return r.trainer.State(theta, m, v)
	}
	copy(theta, r.shared.theta)
	return nil
}

// recordLength is the number of integers in the records of an update's steps.
func (r *Replica) recordLength() int { return 2 * r.plan.Shards * r.LocalSteps() }

// records are those of the steps of an update, in order.
func (r *Replica) records(u Update) []ledger.Record {
	return slices.Collect(slices.Chunk(u.Used, 2*r.plan.Shards))
}

// first is the first step of the round that ends with a step.
func (r *Replica) first(last ergoflow.Step) ergoflow.Step {
	return last + 1 - ergoflow.Step(r.LocalSteps())
}
