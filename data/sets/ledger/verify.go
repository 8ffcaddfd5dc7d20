package ledger

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/batch"
)

// Batches are the data that the steps of a run must have learned from.
type Batches struct {
	batch.Plan
	// First is the number of a shard's first function.
	First func(shard int) int
}

// Proof is the result of Verify.
type Proof struct {
	Steps       ergoflow.Step `json:"steps"`       // updates, every one accounted for
	Epochs      int           `json:"epochs"`      // complete ones
	Blocks      int64         `json:"blocks"`      // (epoch, function, block) used, each once
	Samples     int64         `json:"samples"`     // in them
	Generations int           `json:"generations"` // that made the steps
	Workers     int           `json:"workers"`     // that made them
}

// Verify proves that a state at step has learned from every (epoch, function, block) of its
// steps exactly once, in the order of the plan. The error is a [*Violation] if it has not.
//
// It computes the words of all steps again. It compares the whole batch of every step, and
// every shard of a stretch with the worker that used it. It also checks, sample by sample,
// that the plan's blocks take each stored sample once in an epoch.
func (l Ledger) Verify(ctx context.Context, b Batches, step ergoflow.Step) (Proof, error) {
	if err := b.Validate(); err != nil {
		return Proof{}, err
	}
	if err := l.Validate(step); err != nil {
		return Proof{}, err
	}
	if n := l.shards(); n != b.Shards && len(l.Words) > 0 {
		return Proof{}, fmt.Errorf("ledger: of %d shards, the run has %d", n, b.Shards)
	}
	if first := l.first(step); first > 0 {
		v := &Violation{batches: b}
		v.note(0, 0, 0, fmt.Sprintf("the ledger begins at step %d: nothing accounts for the steps before", first))
		return Proof{}, v
	}
	expected, err := recount(ctx, b, l.Stretches)
	if err != nil {
		return Proof{}, err
	}
	if v := l.compare(b, expected); v != nil {
		return Proof{}, v
	}
	return l.proof(b, step), nil
}

func (l Ledger) shards() int {
	if len(l.Stretches) == 0 {
		return 0
	}
	return len(l.Stretches[0].Words)
}

func (l Ledger) proof(b Batches, step ergoflow.Step) Proof {
	blocks := int64(step) * int64(b.BatchFunctions)
	p := Proof{Steps: step, Epochs: int(step) / b.StepsPerEpoch(), Blocks: blocks, Samples: blocks * int64(b.BatchSamples)}
	generations := make(map[ergoflow.Generation]bool)
	workers := make(map[ergoflow.WorkerID]bool)
	for _, s := range l.Stretches {
		generations[s.Generation] = true
		for _, entry := range s.Users {
			rank, _ := user(entry)
			workers[s.Workers[rank]] = true
		}
	}
	p.Generations, p.Workers = len(generations), len(workers)
	return p
}

// expected are the words of a plan.
type expected struct {
	words  []int64   // of every step
	shards [][]int64 // of every stretch, of every shard
}

// recount computes the words that the stretches, which begin at step 0, must have. It counts
// shards on GOMAXPROCS goroutines.
func recount(ctx context.Context, b Batches, stretches []Stretch) (expected, error) {
	steps := 0
	if n := len(stretches); n > 0 {
		steps = int(stretches[n-1].end())
	}
	e := expected{words: make([]int64, steps), shards: make([][]int64, len(stretches))}
	for i := range e.shards {
		e.shards[i] = make([]int64, b.Shards)
	}
	workers := min(runtime.GOMAXPROCS(0), b.Shards)
	sums := make([][]int64, workers)
	group, ctx := errgroup.WithContext(ctx)
	for w := range workers {
		sums[w] = make([]int64, steps)
		group.Go(func() error {
			for k := w; k < b.Shards; k += workers {
				if err := b.recountShard(ctx, k, stretches, sums[w], e.shards); err != nil {
					return err
				}
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return expected{}, err
	}
	for _, sum := range sums {
		for s, word := range sum {
			e.words[s] += word
		}
	}
	return e, nil
}

// recountShard adds one shard's words to those of the steps and of the stretches.
func (b Batches) recountShard(ctx context.Context, k int, stretches []Stretch, steps []int64, shards [][]int64) error {
	c := newCounter(b, k)
	seen, err := newCoverage(b.FunctionsPerShard, b.Samples)
	if err != nil {
		return err
	}
	for i, s := range stretches {
		for step := int(s.First); step < int(s.end()); step++ {
			if err := ctx.Err(); err != nil {
				return err
			}
			word := c.step(step, func(pick batch.Pick, indices []int32) bool { return seen.take(pick.Function, indices) })
			if c.repeated {
				return fmt.Errorf("ledger: the plan takes a sample of shard %d twice by step %d: its blocks are wrong", k, step)
			}
			steps[step] += word
			shards[i][k] += word
			if (step+1)%b.StepsPerEpoch() == 0 && !seen.turn() {
				return fmt.Errorf("ledger: the plan leaves samples of shard %d out in the epoch that ends at step %d: its blocks are wrong", k, step)
			}
		}
	}
	return nil
}

// A counter computes the words of one shard's steps.
type counter struct {
	batches  Batches
	shard    int
	first    int
	indices  []int32
	hasher   Hasher
	repeated bool // visit returned false
}

func newCounter(b Batches, shard int) *counter {
	return &counter{batches: b, shard: shard, first: b.First(shard), indices: make([]int32, b.BatchSamples)}
}

// step is the word of the shard's part of a step. It calls visit, if not nil, for every
// pick.
func (c *counter) step(step int, visit func(batch.Pick, []int32) bool) (word int64) {
	for _, pick := range c.batches.Picks(step, c.shard) {
		c.batches.Block(pick, c.indices)
		if visit != nil && !visit(pick, c.indices) {
			c.repeated = true
		}
		word += int64(c.hasher.Word(c.first+pick.Function, c.indices))
	}
	return word
}
