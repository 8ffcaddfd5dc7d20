package worker

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/data/batch"
	"github.com/ergoflow/ergoflow/data/ledger"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/layers"
	"github.com/ergoflow/ergoflow/model/state"
	"github.com/ergoflow/ergoflow/model/train"
)

// A replica is this worker's copy of a run: its shards, its graphs and the
// training state. It outlives generations and sessions.
type replica struct {
	plan          ergoflow.Plan
	experiment    experiment.Experiment
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
func (w *worker) prepare(ctx context.Context, order *wire.Prepare, told func(ergoflow.Mark)) error {
	r := w.replica.Load()
	if r == nil || r.plan.Run != order.Plan.GetRun() {
		w.drop()
		var err error
		if r, err = newReplica(ctx, w, order); err != nil {
			return err
		}
		w.replica.Store(r)
	}
	if order.Follow != nil {
		r.follow(ctx, order.Follow, w.log, told)
	}
	return nil
}

// newReplica maps the run's shards and compiles every shape that any membership
// can need, so that admission costs the others nothing.
func newReplica(ctx context.Context, w *worker, order *wire.Prepare) (*replica, error) {
	plan, err := order.Plan.Checked()
	if err != nil {
		return nil, err
	}
	exp, err := experiment.Parse(plan.Config)
	if err != nil {
		return nil, err
	}
	if have := exp.Hash(); have != plan.Run {
		return nil, fmt.Errorf("run %.12s: this build reads its configuration as run %.12s", plan.Run, have)
	}
	r := &replica{plan: plan, experiment: exp, batches: exp.BatchPlan(), saver: newSaver(plan, w.log)}
	if err := r.checkExact(w.backend); err != nil {
		return nil, err
	}
	if err := r.open(ctx, w, shard.NewDir(order.Store)); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

func (r *replica) open(ctx context.Context, w *worker, store *shard.Dir) (err error) {
	if r.normalisation, err = r.experiment.Normalisation(ctx, store); err != nil {
		return err
	}
	if err = r.condition(); err != nil {
		return err
	}
	r.shards = make([]*shard.Shard, r.plan.Shards)
	for k := range r.shards {
		if r.shards[k], err = store.Open(r.plan.Dataset, k); err != nil {
			return err
		}
	}
	if r.trainer, err = train.New(w.backend, r.experiment.Trainer()); err != nil {
		return err
	}
	if r.experiment.Training.Precision == layers.BFloat16 && w.backend.Name != backend.XLACUDA {
		w.log.Warn("bfloat16 gains little or nothing on this backend and takes more memory", "backend", w.backend.Name)
	}
	r.sum = make([]float32, r.trainer.Size()+2)
	if r.exact() {
		r.words = make([]int64, r.exactLength())
	}
	for shards := 1; shards <= r.largest(); shards *= 2 {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := r.trainer.Precompile(shards * r.batches.FunctionsPerStep()); err != nil {
			return err
		}
	}
	return r.rehearse(ctx)
}

// rehearse makes a step that counts nowhere. The first one takes twice as long as
// those after it, mostly since it is the first to touch its memory, and the others
// would wait for it. Half of the shards is the most that a worker gets beside
// another.
func (r *replica) rehearse(ctx context.Context) error {
	shards := make([]uint32, (r.plan.Shards+1)/2)
	for k := range shards {
		shards[k] = uint32(k)
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
	if _, err := r.gradient(0, b); err != nil {
		return err
	}
	if err := r.trainer.Take(r.sum); err != nil {
		return err
	}
	if _, err := r.trainer.Apply(r.sum, 0); err != nil && !errors.Is(err, train.ErrDiverged) { // so may these parameters
		return err
	}
	return nil
}

// largest is how many shards' functions a micro-batch may have.
func (r *replica) largest() int {
	most := r.plan.Shards
	if r.exact() { // a group's
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
		c, err := alternative.Conditioner(r.normalisation)
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

// at is the number of updates applied.
func (r *replica) at() ergoflow.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return ergoflow.Step(len(r.losses))
}

// mark names the state; mu is held.
func (r *replica) mark() ergoflow.Mark {
	return ergoflow.Mark{Generation: r.made, Step: ergoflow.Step(len(r.losses))}
}

// gradient adds up the micro-batches on the device, and accounts for what that
// was made of.
func (r *replica) gradient(rank int, b *stepBatch) (ledger.Record, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	used := ledger.NewRecord(r.plan.Shards)
	return used, r.accumulate(rank, b.micro, used)
}

// copied yields the buckets of the sum [P+2] of gradient in turn, as parts of r.sum.
// While the caller has one, those after it are copied to the host.
func (r *replica) copied() iter.Seq2[[]float32, error] {
	return func(yield func([]float32, error) bool) {
		buckets := r.trainer.Buckets(r.sum)
		arrived := make(chan error, len(buckets)) // the copier never waits
		go func() {
			for k, bucket := range buckets {
				arrived <- r.copyBucket(bucket, k)
			}
		}()
		wanted := true
		for _, bucket := range buckets { // all of them: then the copier has ended
			err := <-arrived
			wanted = wanted && yield(bucket, err)
		}
	}
}

func (r *replica) copyBucket(dst []float32, k int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.trainer.TakeBucket(dst, k)
}

// accumulate adds up gradients on the device, and enters what the device was
// given.
func (r *replica) accumulate(rank int, micro []*flow.Batch, used ledger.Record) error {
	r.trainer.Reset() // of a step that was interrupted
	for _, m := range micro {
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
	if _, err := r.trainer.Apply(sum, int64(step)); err != nil {
		return 0, 0, err
	}
	loss, count := train.Loss(sum)
	r.ledger.Append(step, g, workers, used)
	r.tell(step, g, workers, used, sum)
	r.losses, r.made = append(r.losses, loss), g
	return loss, int64(count), nil
}

// errNoState means that the replica holds no training state yet.
var errNoState = errors.New("no training state")

// state copies the training state to the host.
func (r *replica) state() (*state.State, ergoflow.Generation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copyState()
}

// copyState is state; mu is held.
func (r *replica) copyState() (*state.State, ergoflow.Generation, error) {
	if !r.held {
		return nil, 0, errNoState
	}
	size := r.trainer.Size()
	st := &state.State{
		Step:          ergoflow.Step(len(r.losses)),
		Run:           r.plan.Run,
		Layout:        r.experiment.Velocity().Layout(),
		Parameters:    make([]float32, size),
		M:             make([]float32, size),
		V:             make([]float32, size),
		Losses:        append([]float64(nil), r.losses...),
		Ledger:        r.ledger.Clone(),
		Normalisation: r.normalisation,
		Config:        r.plan.Config,
	}
	return st, r.made, r.trainer.State(st.Parameters, st.M, st.V)
}

// load puts a state that the generation made onto the device.
func (r *replica) load(st *state.State, made ergoflow.Generation) error {
	if st.Run != "" && st.Run != r.plan.Run {
		return fmt.Errorf("state of run %.12s, not of %.12s", st.Run, r.plan.Run)
	}
	if !st.Layout.Equal(r.experiment.Velocity().Layout()) {
		return errors.New("state of another network: its tensors differ")
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.dismiss()
	r.held = false
	if err := r.trainer.SetState(st.Parameters, st.M, st.V); err != nil {
		return err
	}
	r.losses, r.made = append(r.losses[:0], st.Losses...), made
	r.ledger = st.Ledger
	r.held = true
	return nil
}

// take brings the state of a generation into place.
func (r *replica) take(ctx context.Context, s *session, source *wire.Source) error {
	var st *state.State
	var err error
	want := ergoflow.Mark{Generation: ergoflow.Generation(source.GetMade()), Step: ergoflow.Step(source.GetStep())}
	switch source.GetKind() {
	case wire.Source_KIND_OWN:
		return r.expect(want)
	case wire.Source_KIND_PEER:
		st, err = fetchFromPeer(ctx, source.Peer, r, want)
	case wire.Source_KIND_CHECKPOINT:
		st, err = fetchCheckpoint(ctx, s.control, r, want)
	case wire.Source_KIND_FRESH:
		st = state.Fresh(r.experiment.Velocity().Layout(), r.experiment.Seed)
	default:
		return fmt.Errorf("unknown source of state %v", source.GetKind())
	}
	if err != nil {
		return err
	}
	if st.Step != want.Step {
		return fmt.Errorf("got a state at step %d instead of %d", st.Step, want.Step)
	}
	return r.load(st, want.Generation)
}

// expect fails unless the replica holds the state.
func (r *replica) expect(want ergoflow.Mark) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if have := r.mark(); !r.held || have != want {
		return fmt.Errorf("told to go on with my state at %s, but hold %s", want, have)
	}
	return nil
}

// present fills in what the worker holds from before, for the coordinator to
// know who comes back.
func (w *worker) present(hello *wire.Hello) *wire.Hello {
	if r := w.replica.Load(); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		mark := r.mark()
		hello.Run, hello.HasState, hello.Made, hello.Step = r.plan.Run, r.held, uint64(mark.Generation), int64(mark.Step)
	}
	return hello
}

// report says which state the worker holds, for the coordinator to choose the
// generation's from.
func (w *worker) report(ctx context.Context, generation uint64) (*wire.Report, error) {
	report := &wire.Report{Generation: generation}
	r := w.replica.Load()
	if r == nil {
		return report, nil
	}
	r.awaitLast(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.held {
		return report, nil
	}
	theta := make([]float32, r.trainer.Size())
	if err := r.trainer.State(theta, nil, nil); err != nil {
		return nil, err
	}
	hash := state.HashParameters(theta)
	report.HasState, report.Made, report.Step, report.ParameterHash = true, uint64(r.made), int64(len(r.losses)), hash[:]
	return report, nil
}
