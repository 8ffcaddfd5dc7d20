// Package batch composes training batches. The functions and samples of step s are a pure
// function of (seed, s): neither the number of workers nor the placement of shards changes
// them.
//
// An epoch visits every (function, stored sample) exactly once. It consists of
// Samples/BatchSamples passes; a pass visits every function once, with a block
// of BatchSamples of its samples. Functions are shuffled within their shard on
// every pass, the samples of a function once per epoch: pass p of the epoch
// takes block p of the shuffled samples. Every step takes the same number of
// functions from every shard.
//
// A Plan picks functions and samples. Package worker/replica gives each rank the picks
// of its shards, and package model/training/flow fills the batch: inputs, noise, times.
package batch

import "fmt"

// Plan describes the batches of a training run.
type Plan struct {
	Seed              uint64
	Shards            int // training shards
	FunctionsPerShard int
	Samples           int // stored per function
	BatchFunctions    int // functions per step, over all shards
	BatchSamples      int // samples of each function per step
}

// Pick is one function of a step's batch.
type Pick struct {
	Function int // row within its shard
	Global   int // number within the experiment: shard·FunctionsPerShard + Function
	Pass     int // earlier visits to the function, over all epochs
}

// Bounds of a Plan.
const (
	maxBatchFunctions = 1 << 20
	maxBatchSamples   = 1 << 16
)

// Validate reports a batch that is out of range, or that does not take the same number
// of functions from every shard and whole blocks of samples, by its path in an
// experiment's YAML.
func (p Plan) Validate() error {
	functions := p.Shards * p.FunctionsPerShard
	switch {
	case min(p.Shards, p.FunctionsPerShard, p.Samples) < 1:
		return fmt.Errorf("%d shards of %d functions with %d samples: all must be positive", p.Shards, p.FunctionsPerShard, p.Samples)
	case p.BatchFunctions < 1 || p.BatchFunctions > maxBatchFunctions:
		return fmt.Errorf("training.batch_functions is %d: must be from 1 to %d", p.BatchFunctions, maxBatchFunctions)
	case p.BatchSamples < 1 || p.BatchSamples > maxBatchSamples:
		return fmt.Errorf("training.batch_samples is %d: must be from 1 to %d", p.BatchSamples, maxBatchSamples)
	case p.BatchFunctions%p.Shards != 0:
		return fmt.Errorf("training.batch_functions is %d: must be a multiple of data.shards (%d)", p.BatchFunctions, p.Shards)
	case functions%p.BatchFunctions != 0:
		return fmt.Errorf("training.batch_functions is %d: must be a divisor of data.functions (%d)", p.BatchFunctions, functions)
	case p.Samples%p.BatchSamples != 0:
		return fmt.Errorf("training.batch_samples is %d: must be a divisor of data.samples (%d)", p.BatchSamples, p.Samples)
	}
	return nil
}

// FunctionsPerStep is the number of functions that a step takes from a shard.
func (p Plan) FunctionsPerStep() int { return p.BatchFunctions / p.Shards }

// Passes is the number of visits to a function in an epoch.
func (p Plan) Passes() int { return p.Samples / p.BatchSamples }

// StepsPerPass is the number of steps in which every function occurs once.
func (p Plan) StepsPerPass() int { return p.FunctionsPerShard / p.FunctionsPerStep() }

// StepsPerEpoch is the number of optimizer updates in an epoch.
func (p Plan) StepsPerEpoch() int { return p.Passes() * p.StepsPerPass() }

// Picks returns what the step takes from the shard: FunctionsPerStep functions
// in a fixed order. It panics on a negative step or a shard out of range. Like
// all methods it is pure and safe for concurrent use.
func (p Plan) Picks(step, shard int) []Pick {
	if step < 0 || shard < 0 || shard >= p.Shards {
		panic(fmt.Sprintf("batch: step %d of shard %d of %d", step, shard, p.Shards))
	}
	pass, within := step/p.StepsPerPass(), step%p.StepsPerPass()
	order := newPermutation(p.FunctionsPerShard, p.Seed, "batch/functions", uint64(shard), uint64(pass))
	picks := make([]Pick, p.FunctionsPerStep())
	for i := range picks {
		function := order.at(within*len(picks) + i)
		picks[i] = Pick{function, shard*p.FunctionsPerShard + function, pass}
	}
	return picks
}

// Block writes the indices of the samples that the pick takes into dst, which
// has length BatchSamples.
func (p Plan) Block(pick Pick, dst []int32) {
	if len(dst) != p.BatchSamples {
		panic(fmt.Sprintf("batch: block of %d samples, want %d", len(dst), p.BatchSamples))
	}
	epoch, block := pick.Pass/p.Passes(), pick.Pass%p.Passes()
	order := newPermutation(p.Samples, p.Seed, "batch/samples", uint64(pick.Global), uint64(epoch))
	for i := range dst {
		dst[i] = int32(order.at(block*len(dst) + i))
	}
}
