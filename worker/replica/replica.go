package replica

import (
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// A Replica is this worker's copy of a run. See the package comment for what may
// run at the same time.
type Replica struct {
	settings atomic.Pointer[settings]

	// Fixed after Open.
	plan          ergoflow.Plan // of plan and experiment what the run's hash covers
	experiment    experiment.Experiment
	family        family.Family
	batchPlan     batch.Plan
	shards        []*shard.Shard // all of the run, mapped; only pages in use are read
	normalisation shard.Normalisation
	frame         flow.Frame         // of the normalisation
	conditioners  []flow.Conditioner // step s uses number s modulo their count; not for concurrent use

	mu            sync.Mutex // guards the device and all below
	trainer       *trainer.Trainer
	sum           []float32 // the sum over the ranks of the step, or the round, in Compute
	units         []int64   // the same in fixed point, where training is reproducible
	round         round     // with local steps, the one under way
	shared        shared    // with local steps, the training state
	hasState      bool
	losses        []float64 // mean loss of every step; their number is the step
	ledger        ledger.Ledger
	generation    ergoflow.Generation               // which made the last update
	subscriptions map[<-chan *Update]chan<- *Update // by what the subscriber holds
}

// Plan is the plan of the run, with the newest settings.
func (r *Replica) Plan() ergoflow.Plan { return r.settings.Load().plan }

// Experiment is the configuration of the run. Settings that its hash leaves out are those with
// which the replica was opened.
func (r *Replica) Experiment() experiment.Experiment { return r.experiment }

// Layout names the tensors in the vector of parameters.
func (r *Replica) Layout() parameters.Layout { return r.experiment.Velocity().Layout() }

// Size is P, the number of parameters.
func (r *Replica) Size() int { return r.trainer.Size() }

// reproducible reports whether the run trains to bitwise identical parameters.
func (r *Replica) reproducible() bool { return r.plan.Groups > 0 }

// Close ends all subscriptions and frees the device and the shards. After that the
// replica has no training state.
func (r *Replica) Close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSubscriptions()
	r.hasState = false
	if r.trainer != nil {
		r.trainer.Close()
	}
	for _, s := range r.shards {
		if s != nil {
			s.Close()
		}
	}
}
