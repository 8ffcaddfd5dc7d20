package replica

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Reproducible training. Each group of shards has its own gradient, which the same
// programs compute on every worker. It is rounded to whole units, and units are
// summed as integers, on the worker and over the ring. So the sum depends neither
// on the placement of shards nor on the order of summation.
//
// At level 0 one unit is 2^unitExponent of the mean gradient, with the number of
// samples rounded up to a power of two. Rounding loses less than that, which is
// negligible beside Adam's ε of 1e-8. At level 0 a group's share of the mean may be 2^11. The rare step
// with a larger share is computed again at the next level, whose unit is
// 2^levelExponent times as large. All ranks decide this alike, because the number
// of groups that did not fit is part of the sum.
const (
	unitExponent  = -48
	levelExponent = 24
	levels        = 7 // the last has room for any float32
)

var errThreads = errors.New("reproducible training on xla:cpu needs a worker with --threads 1: XLA's rounding depends on the number of threads")

// checkReproducible fails where this worker or build cannot train the plan
// reproducibly.
func (r *Replica) checkReproducible(device *backend.Backend) error {
	want, err := r.experiment.Plan()
	if err != nil {
		return err
	}
	if want.Groups != r.plan.Groups {
		return fmt.Errorf("run %.12s: the plan has %d groups of shards, this build makes %d", r.plan.Run, r.plan.Groups, want.Groups)
	}
	if r.reproducible() && device.Name == backend.XLACPU && backend.Threads() != 1 {
		return errThreads
	}
	return nil
}

// unitsLength is the length of what the ring sums: the sum in units, the number of
// groups that did not fit, and the record of the samples used.
func (r *Replica) unitsLength() int { return len(r.sum) + 1 + 2*r.plan.Shards }

// fixedPoint is the unit of a level and the number of groups to sum.
func (r *Replica) fixedPoint(level int) allreduce.FixedPoint {
	samples := r.batchPlan.BatchFunctions * r.batchPlan.BatchSamples
	return allreduce.FixedPoint{
		Exponent: unitExponent + level*levelExponent + bits.Len(uint(samples-1)),
		Terms:    r.plan.Groups,
	}
}

// computeFixed sums in fixed point, at the first level where all groups fit, into
// r.sum.
func (r *Replica) computeFixed(ctx context.Context, ring *allreduce.Ring, b *Batch, watch *Stopwatch, timing *Timing) (ledger.Record, error) {
	for level := range levels {
		if err := r.gradientInUnits(ctx, ring.Identity().Rank, b, level); err != nil {
			return nil, fmt.Errorf("gradient of step %d: %w", b.Step, err)
		}
		timing.Gradient += watch.Lap()
		if err := ring.AllReduceInt64(b.Step, r.units); err != nil {
			return nil, err
		}
		timing.Ring += watch.Lap()
		if used, ok := r.fromUnits(level); ok {
			return used, nil
		}
	}
	return nil, fmt.Errorf("step %d: %w: the gradient is not finite", b.Step, trainer.ErrDiverged)
}

// gradientInUnits leaves this rank's part of the sum in r.units.
func (r *Replica) gradientInUnits(ctx context.Context, rank int, b *Batch, level int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.sum)
	clear(r.units)
	used := ledger.Record(r.units[n+1:])
	first := 0
	for _, end := range b.groupEnds {
		if err := r.accumulate(ctx, rank, b.Micro[first:end], used); err != nil {
			return err
		}
		if err := r.trainer.TakeSum(r.sum); err != nil {
			return err
		}
		if !r.fixedPoint(level).Add(r.units[:n], r.sum) {
			r.units[n]++
		}
		first = end
	}
	return nil
}

// fromUnits turns the sum over the ranks into float32, in r.sum. It is false where
// a group did not fit.
func (r *Replica) fromUnits(level int) (used ledger.Record, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.sum)
	if r.units[n] != 0 {
		return nil, false
	}
	r.fixedPoint(level).Floats(r.sum, r.units[:n])
	return r.units[n+1:], true
}
