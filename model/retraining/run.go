package retraining

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/depot"
	"github.com/ergoflow/ergoflow/internal/atomicfile"
	"github.com/ergoflow/ergoflow/internal/notice"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/registry"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Options of Run.
type Options struct {
	Config     Config
	Experiment experiment.Experiment // as Load returns it
	Force      bool                  // retrains though nothing has changed
	// Schedule and Scheduled say which schedule started the retraining, and for which time.
	Schedule, Scheduled string
	By                  string // who or what retrains, for the registry

	// Train trains until the experiment's last step or until ctx ends, and returns the newest
	// state, encoded. When ctx ends it returns ctx's error beside that state, which may be
	// missing. A later call for the same job goes on.
	Train func(ctx context.Context, job Job) (encoded []byte, err error)
	// Evaluate evaluates a state, with the rows of those kinds.
	Evaluate func(ctx context.Context, e Evaluation) (*evaluate.Results, error)

	// Depot has the shards and the imports, where Config.Bucket is their location; nil: they are
	// in a directory.
	Depot *depot.Depot

	Log *slog.Logger

	at func(stage string) // tests kill the process here
}

// Job is a training.
type Job struct {
	Experiment experiment.Experiment
	Start      []byte // encoded state to start from; nil: random parameters
	Dir        string // of the cluster, the same for the same job
	Store      string // shard store
	Cluster    Cluster
}

// Evaluation is of one state on the held-out functions.
type Evaluation struct {
	Experiment experiment.Experiment
	State      *state.State
	Frame      flow.Frame // of distances; nil: the state's
	Store      string
	Kinds      []evaluate.Kind
}

// ErrLost means that another retraining took the lock over.
var ErrLost = errors.New("another retraining has taken over the lock of the model")

// run is one process of a retraining.
type run struct {
	Options
	registry *registry.Registry
	fence    uint64
	known    known
	journal  *journal
	imported *Imported
	notices  []notice.Delivery
	began    time.Time // this process
	before   Duration  // that earlier processes have spent
}

// Run retrains once. The outcome says what was decided and why. Its decision is Failed beside
// an error, except where ctx ended: then the retraining is not over, and the next Run goes on.
func Run(ctx context.Context, o Options) (Outcome, error) {
	r := &run{Options: o, began: time.Now()}
	out, err := r.locked(ctx)
	if err != nil && ctx.Err() != nil {
		return out, err // it is not over
	}
	if err != nil {
		out = r.outcome(Failed, err.Error())
	}
	return r.tell(context.WithoutCancel(ctx), out), err
}

// locked takes the lock of the model, and retrains while it has it.
func (r *run) locked(ctx context.Context) (Outcome, error) {
	c := r.Config
	var err error
	if r.registry, err = registry.Open(c.Registry); err != nil {
		return Outcome{}, err
	}
	if err := atomicfile.MakeDirs(c.Dir); err != nil {
		return Outcome{}, fmt.Errorf("directory of retrainings: %w", err)
	}
	lease, err := r.registry.Lock(ctx, c.Name, registry.Self("ergoflow retrain"), c.Overlap)
	if errors.Is(err, registry.ErrLocked) {
		return r.outcome(Skipped, err.Error()), nil
	}
	if err != nil {
		return Outcome{}, err
	}
	if lease.Took != "" {
		r.Log.Warn("took over the lock of the model", "reason", lease.Took)
	}
	r.fence = lease.Fence
	defer func() {
		if released := lease.Release(context.WithoutCancel(ctx)); released != nil {
			r.Log.Warn("release the lock of the model", "error", released)
		}
	}()
	within, cancel := context.WithCancelCause(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-lease.Lost():
			cancel(fmt.Errorf("%w: %w", ErrLost, lease.Err()))
		case <-within.Done():
		}
	})
	defer watching.Wait()
	defer cancel(nil)

	out, err := r.retrain(within)
	if lost := context.Cause(within); err != nil && errors.Is(lost, ErrLost) {
		err = lost
	}
	return out, err
}

// retrain goes through the stages that are not done.
func (r *run) retrain(ctx context.Context) (Outcome, error) {
	ended, err := r.prepare(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if ended != nil {
		return *ended, nil
	}
	r.tellStart(ctx)
	r.reached("begun")
	if err := r.train(ctx); err != nil {
		return Outcome{}, r.interrupted(err)
	}
	result, err := r.promote(ctx)
	if err != nil {
		return Outcome{}, r.interrupted(err)
	}
	r.journal.Outcome = &result
	if err := r.note(); err != nil {
		return Outcome{}, err
	}
	r.reached("ended")
	r.clean(ctx)
	return result, nil
}

// note writes the journal, with the wall time spent so far.
func (r *run) note() error {
	r.journal.Spent = r.spent()
	return r.journal.write(r.Config.Dir)
}

// spent is the wall time of all processes of the retraining.
func (r *run) spent() Duration { return r.before + Duration(time.Since(r.began)) }

// interrupted notes the time spent, beside the error that ends the process.
func (r *run) interrupted(err error) error { return errors.Join(err, r.note()) }

// warn keeps a line for the outcome.
func (r *run) warn(format string, args ...any) {
	line := fmt.Sprintf(format, args...)
	r.Log.Warn(line)
	r.journal.Warnings = append(r.journal.Warnings, line)
}

// reached is where tests kill the process.
func (r *run) reached(stage string) {
	if r.at != nil {
		r.at(stage)
	}
}
