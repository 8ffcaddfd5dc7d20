package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/ergoflow/ergoflow/model/training/train"
)

// A replica is this worker's copy of a run: its shards, its graphs and the
// training state. It outlives generations and sessions.
type replica struct {
	plan          ergoflow.Plan
	experiment    experiment.Experiment
	family        family.Family
	batches       batch.Plan
	shards        []*shard.Shard // all of them, mapped: only what is used is read
	normalisation shard.Normalisation
	conditioners  []flow.Conditioner // of each step in turn, for one prefetcher at a time
	saver         *saver

	// mu is held by whoever uses the device or the fields below: a step, a
	// peer that fetches the state, a checkpoint that is taken.
	mu      sync.Mutex
	trainer *train.Trainer
	sum     []float32 // [P+2], what the ring adds up
	words   []int64   // what it adds up where training is reproducible
	losses  []float64 // mean loss of every step; their number is the step
	ledger  ledger.Ledger
	made    ergoflow.Generation // that made the last step
	held    bool                // whether there is a state at all

	followers map[chan *update]bool // who is told of every update
	leader    *following            // whom this replica follows; nil: nobody
}

// prepare builds the replica of a run, or keeps the one that is there, and has it
// follow whom the order says; told hears what state it comes to hold by that.
func (w *worker) prepare(ctx context.Context, order message.Prepare, told func(ergoflow.Mark)) error {
	r := w.replica.Load()
	if r == nil || !r.suits(order.Plan) {
		w.drop()
		var err error
		if r, err = newReplica(ctx, w, order); err != nil {
			return err
		}
		w.replica.Store(r)
	}
	if order.Follow != (message.Member{}) {
		w.awaitReach(ctx, order.Follow)
		r.follow(ctx, order.Follow, w.log, told)
	}
	return nil
}

// suits reports whether the replica can be kept: it is of the plan's run and has its
// settings, or a state, which is worth more than settings that the run's hash leaves out.
func (r *replica) suits(plan ergoflow.Plan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.plan.Run == plan.Run && (r.held || bytes.Equal(r.plan.Config, plan.Config))
}

// newReplica maps and verifies the run's shards and compiles every shape that any
// membership can need, so that admission costs the others nothing.
func newReplica(ctx context.Context, w *worker, order message.Prepare) (*replica, error) {
	plan := order.Plan
	if err := plan.Validate(); err != nil {
		return nil, fmt.Errorf("plan of run %.12s: %w", plan.Run, err)
	}
	exp, err := experiment.Parse(plan.Config)
	if err != nil {
		return nil, err
	}
	if have := exp.Hash(); have != plan.Run {
		return nil, fmt.Errorf("run %.12s: this build reads its configuration as run %.12s", plan.Run, have)
	}
	f, err := exp.Family()
	if err != nil {
		return nil, err
	}
	r := &replica{plan: plan, experiment: exp, family: f, batches: exp.BatchPlan(), saver: w.saver}
	if err := r.checkReproducible(w.backend); err != nil {
		return nil, err
	}
	if err := r.open(ctx, w, shard.NewDir(order.Store)); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *replica) open(ctx context.Context, w *worker, store *shard.Dir) (err error) {
	r.shards = make([]*shard.Shard, r.plan.Shards)
	if err = w.awaitStore(ctx, func() error { return r.openShards(ctx, store) }); err != nil {
		return err
	}
	if err = r.condition(); err != nil {
		return err
	}
	group, beside := errgroup.WithContext(ctx)
	group.Go(func() error { return w.verify(beside, store, r.plan) })
	group.Go(func() error { return r.compile(beside, w) })
	if err = group.Wait(); err != nil {
		return err
	}
	return r.rehearse(ctx)
}

// openShards maps the shards that are not mapped yet.
func (r *replica) openShards(ctx context.Context, store *shard.Dir) (err error) {
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

// A client of a network file system may for a minute not see what another host has
// written: it keeps in mind that it was not there.
const (
	storePatience = 90 * time.Second
	storePause    = 2 * time.Second
)

// awaitStore opens what the coordinator has seen in the store, also if that is not to
// be seen from here yet.
func (w *worker) awaitStore(ctx context.Context, open func() error) error {
	for begin := time.Now(); ; {
		err := open()
		if !errors.Is(err, shard.ErrNotFound) && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ESTALE) ||
			time.Since(begin) > storePatience {
			return err
		}
		w.log.Warn("the store is looked at again", "error", err)
		select {
		case <-time.After(storePause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// compile makes the trainer and all its graphs.
func (r *replica) compile(ctx context.Context, w *worker) (err error) {
	if r.trainer, err = train.New(w.backend, r.experiment.Trainer()); err != nil {
		return err
	}
	if r.experiment.Training.Precision == layers.BFloat16 && w.backend.Name != backend.XLACUDA {
		w.log.Warn("bfloat16 gains little or nothing on this backend and takes more memory", "backend", w.backend.Name)
	}
	r.sum = make([]float32, r.trainer.Size()+2)
	if r.reproducible() {
		r.words = make([]int64, r.fixedLength())
	}
	for shards := 1; shards <= r.largest(); shards *= 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.trainer.Precompile(shards * r.batches.FunctionsPerStep()); err != nil {
			return err
		}
	}
	return nil
}

// rehearse makes a step that counts nowhere. The first one takes twice as long as
// those after it, mostly since it is the first to touch its memory, and the others
// would wait for it. Half of the shards is the most that a worker gets beside
// another.
func (r *replica) rehearse(ctx context.Context) error {
	shards := make([]int, (r.plan.Shards+1)/2)
	for k := range shards {
		shards[k] = k
	}
	ctx, cancel := context.WithCancel(ctx)
	batches := prefetch(ctx, r, shards)
	defer batches.wait()
	defer cancel()
	b, err := batches.next(ctx)
	if err != nil {
		return err
	}
	fresh := state.Fresh(r.experiment.Velocity().Layout(), r.experiment.Seed)
	if err := r.trainer.SetState(fresh.Parameters, fresh.M, fresh.V); err != nil {
		return err
	}
	if _, err := r.gradient(ctx, 0, b); err != nil {
		return err
	}
	if err := r.trainer.Take(r.sum); err != nil {
		return err
	}
	if err := r.trainer.Apply(r.sum, 0); err != nil && !errors.Is(err, train.ErrDiverged) { // so may these parameters
		return err
	}
	return nil
}

// largest is how many shards' functions a micro-batch may have.
func (r *replica) largest() int {
	most := r.plan.Shards
	if r.reproducible() { // a group's
		most = (r.plan.Shards + r.plan.Groups - 1) / r.plan.Groups
	}
	functions := r.experiment.Training.MicroBatch
	if functions == 0 {
		return most
	}
	return min(max(functions/r.batches.FunctionsPerStep(), 1), most)
}

// condition makes the conditioners.
func (r *replica) condition() error {
	for _, alternative := range r.experiment.Alternatives() {
		c, err := alternative.Conditioner(r.family, r.normalisation)
		if err != nil {
			return err
		}
		r.conditioners = append(r.conditioners, c)
	}
	return nil
}

// close frees what the replica holds, once no upload needs it.
func (r *replica) close() {
	r.unfollow()
	_ = r.saver.wait(context.Background()) // bounded, as every upload is
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dismiss()
	r.held = false
	if r.trainer != nil {
		r.trainer.Close()
	}
	for _, s := range r.shards {
		if s != nil {
			s.Close()
		}
	}
}
