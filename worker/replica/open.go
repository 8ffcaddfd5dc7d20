package replica

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/upkeep"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Config says what Open makes a replica of.
type Config struct {
	Plan     ergoflow.Plan
	Store    *shard.Dir // where the run's shards are
	Backend  *backend.Backend
	Verified *Verified // shards which this process has verified before
	Log      *slog.Logger
}

// Open maps and verifies the run's shards and compiles every shape that any
// world size can need. So a later admission costs the other workers no time. The
// replica has no training state yet.
func Open(ctx context.Context, c Config) (*Replica, error) {
	exp, err := parse(c.Plan)
	if err != nil {
		return nil, err
	}
	f, err := exp.Family()
	if err != nil {
		return nil, err
	}
	r := newReplica(c.Plan, exp, f)
	if err := r.checkReproducible(c.Backend); err != nil {
		return nil, err
	}
	if err := r.checkMemory(c); err != nil {
		return nil, err
	}
	if err := r.open(ctx, c); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}

func newReplica(plan ergoflow.Plan, exp experiment.Experiment, f family.Family) *Replica {
	r := &Replica{plan: plan, experiment: exp, family: f, batchPlan: exp.BatchPlan()}
	r.settings.Store(&settings{plan, exp.Training.MicroBatch})
	return r
}

// parse returns the experiment in a plan, if that is one of its run.
func parse(plan ergoflow.Plan) (experiment.Experiment, error) {
	if err := plan.Validate(); err != nil {
		return experiment.Experiment{}, fmt.Errorf("plan of run %.12s: %w", plan.Run, err)
	}
	exp, err := experiment.Parse(plan.Config)
	if err != nil {
		return experiment.Experiment{}, err
	}
	if hash := exp.Hash(); hash != plan.Run {
		return experiment.Experiment{}, fmt.Errorf("run %.12s: in this build its configuration has the hash %.12s", plan.Run, hash)
	}
	return exp, nil
}

func (r *Replica) open(ctx context.Context, c Config) error {
	r.shards = make([]*shard.Shard, r.plan.Shards)
	if err := retryMissing(ctx, c.Log, func() error { return r.openShards(ctx, c.Store) }); err != nil {
		return err
	}
	if err := r.makeConditioners(); err != nil {
		return err
	}
	group, groupCtx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.Verified.verify(groupCtx, c.Store, r.plan) })
	group.Go(func() error { return r.compile(groupCtx, c) })
	if err := group.Wait(); err != nil {
		return err
	}
	return r.warmUp(ctx)
}

// openShards maps the shards that are not mapped yet.
func (r *Replica) openShards(ctx context.Context, store *shard.Dir) (err error) {
	if r.normalisation, err = r.experiment.Normalisation(ctx, r.family, store); err != nil {
		return err
	}
	for k := range r.shards {
		if r.shards[k] != nil {
			continue
		}
		if r.shards[k], err = store.Open(r.plan.Dataset, k); err != nil {
			return err
		}
	}
	return nil
}

// A client of a network file system caches that a file is missing. For up to a
// minute it may not see a shard which another host has written and which the
// coordinator has seen.
const (
	missingTimeout = 90 * time.Second
	missingPause   = 2 * time.Second
)

// retryMissing calls open again while it fails because a file is missing.
func retryMissing(ctx context.Context, log *slog.Logger, open func() error) error {
	begin := time.Now()
	return upkeep.Until(ctx, missingPause, func() (final bool, err error) {
		err = open()
		missing := errors.Is(err, shard.ErrNotFound) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ESTALE)
		return !missing || time.Since(begin) > missingTimeout, err
	}, func(err error) {
		log.Warn("a file is missing in the store; trying again", "pause", missingPause, "error", err)
	})
}

// makeConditioners makes one conditioner for each of the experiment's alternatives, and the
// flow's frame.
func (r *Replica) makeConditioners() error {
	var err error
	if r.frame, err = flow.FrameOf(r.normalisation, r.experiment.Velocity().Dim()); err != nil {
		return err
	}
	for _, alternative := range r.experiment.Alternatives() {
		c, err := alternative.Conditioner(r.family, r.normalisation)
		if err != nil {
			return err
		}
		r.conditioners = append(r.conditioners, c)
	}
	return nil
}

// compile makes the trainer and all its graphs.
func (r *Replica) compile(ctx context.Context, c Config) (err error) {
	if r.trainer, err = trainer.New(c.Backend, r.experiment.Trainer()); err != nil {
		return err
	}
	if r.experiment.Training.Precision == layers.BFloat16 && !c.Backend.BFloat16 {
		c.Log.Warn("bfloat16 gains no speed on this device and takes more memory", "backend", c.Backend.Name, "device", c.Backend.Device)
	}
	r.allocate()
	return r.precompile(ctx)
}

// precompile compiles the gradient of every size of micro-batches.
func (r *Replica) precompile(ctx context.Context) error {
	for shards := 1; shards <= r.maxMicroBatch(); shards *= 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.trainer.Precompile(shards * r.batchPlan.FunctionsPerStep()); err != nil {
			return err
		}
	}
	return nil
}

// allocate makes room for the sums over the ranks.
func (r *Replica) allocate() {
	r.sum = make([]float32, r.SumLength())
	if r.reproducible() {
		r.units = make([]int64, r.unitsLength())
	}
	if r.local() {
		r.round = round{make([]float32, r.Size()+2), make([]int64, r.recordLength())}
	}
}

// warmUp takes one step from the fresh state and discards the result. The first
// step takes twice as long as later ones, mostly because it is the first to touch
// its memory, and the other workers would wait for it. It uses half of the shards:
// no worker in a group of two or more has many more than that.
func (r *Replica) warmUp(ctx context.Context) error {
	shards := make([]int, (r.plan.Shards+1)/2)
	for k := range shards {
		shards[k] = k
	}
	ctx, cancel := context.WithCancel(ctx)
	batches := r.Batches(ctx, shards)
	defer batches.Wait()
	defer cancel()
	b, err := batches.Next(ctx)
	if err != nil {
		return err
	}
	fresh := r.Fresh()
	if err := r.trainer.SetState(fresh.Parameters, fresh.M, fresh.V); err != nil {
		return err
	}
	if _, err := r.gradient(ctx, 0, b); err != nil {
		return err
	}
	sum := r.sum[:r.Size()+2]
	if err := r.trainer.TakeSum(sum); err != nil {
		return err
	}
	if err := r.trainer.Apply(sum, 0); err != nil && !errors.Is(err, trainer.ErrDiverged) { // fresh parameters may diverge
		return err
	}
	return nil
}

// Fresh is the state at step 0.
func (r *Replica) Fresh() *state.State { return state.Fresh(r.Layout(), r.experiment.Seed) }
