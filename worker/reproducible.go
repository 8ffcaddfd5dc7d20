package worker

import (
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/ergoflow/ergoflow/allreduce"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/compute/backend"
)

// Reproducible training. The gradient of each group of shards is computed alone,
// by the same programs whoever does it, and rounded to whole units; units are
// added up as integers, on the worker and round the ring. So the sum depends
// neither on who computed what nor on the order.
//
// One unit is 2^unitExponent of the mean gradient, with the number of samples
// rounded up to a power of two. Adam's ε of 1e-8 drowns what is lost below. At
// this level a group's share of the mean may be 2^11; the rare step with a larger
// one is computed again at the next level, with units of 2^levelExponent times
// the size, which all ranks decide alike, since misfits are summed too.
const (
	unitExponent  = -48
	levelExponent = 24
	levels        = 7 // the last has room for any float32
)

// errThreads refuses what would not be reproducible.
var errThreads = errors.New("reproducible training on xla:cpu needs a worker with --threads 1: with another number of threads XLA rounds otherwise")

// checkReproducible reports a worker or a plan that cannot train reproducibly.
func (r *replica) checkReproducible(device *backend.Backend) error {
	want, err := r.experiment.Plan()
	if err != nil {
		return err
	}
	if want.Groups != r.plan.Groups {
		return fmt.Errorf("run %.12s: planned with %d groups of shards, this build has %d", r.plan.Run, r.plan.Groups, want.Groups)
	}
	if r.reproducible() && device.Name == backend.XLACPU && backend.Threads() != 1 {
		return errThreads
	}
	return nil
}

// reproducible says whether the run is reproducible.
func (r *replica) reproducible() bool { return r.plan.Groups > 0 }

// fixedLength is how many words the ring adds up: the sum in units, the number
// of groups that did not fit, and the record of what was used.
func (r *replica) fixedLength() int { return len(r.sum) + 1 + 2*r.plan.Shards }

// fixedPoint is how numbers are rounded at a level.
func (r *replica) fixedPoint(level int) allreduce.FixedPoint {
	samples := r.batches.BatchFunctions * r.batches.BatchSamples
	return allreduce.FixedPoint{
		Exponent: unitExponent + level*levelExponent + bits.Len(uint(samples-1)),
		Terms:    r.plan.Groups,
	}
}

// fixedGradient leaves this rank's words on the host. They are valid until the
// next call.
func (r *replica) fixedGradient(ctx context.Context, rank int, b *stepBatch, level int) ([]int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.sum)
	clear(r.words)
	used := ledger.Record(r.words[n+1:])
	first := 0
	for _, end := range b.ends {
		if err := r.accumulate(ctx, rank, b.micro[first:end], used); err != nil {
			return nil, err
		}
		if err := r.trainer.Take(r.sum); err != nil {
			return nil, err
		}
		if !r.fixedPoint(level).Add(r.words[:n], r.sum) {
			r.words[n]++
		}
		first = end
	}
	return r.words, nil
}

// fixedTotal reads the words of all ranks; ok is false where a group did not
// fit.
func (r *replica) fixedTotal(words []int64, level int) (sum []float32, used ledger.Record, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := len(r.sum)
	if words[n] != 0 {
		return nil, nil, false
	}
	r.fixedPoint(level).Floats(r.sum, words[:n])
	return r.sum, words[n+1:], true
}
