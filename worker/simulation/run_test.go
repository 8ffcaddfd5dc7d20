package simulation

import (
	"time"

	"github.com/ergoflow/ergoflow"
)

// run is one of the runs of a world, with what is durable of it and what the checker knows.
type run struct {
	plan        ergoflow.Plan
	workers     ergoflow.WorkerBounds
	entry       uint64
	checkpoints []*node // durable; of several coordinators, those of which a leader was told so
	finished    bool    // as a durable ledger says
	failure     string  // likewise

	root      *node
	holdings  []holding     // when the last generation formed
	newest    *ring         // of the last generation that was started
	committed *node         // the last state that the coordinator called committed; nil: none, or it was lost
	madeAt    time.Duration // when the last step was applied
	longest   time.Duration // between two steps
}

// addRun adds a run to the world.
func (w *world) addRun(plan ergoflow.Plan, workers ergoflow.WorkerBounds) *run {
	r := &run{plan: plan, workers: workers, entry: uint64(len(w.runs) + 1)}
	r.root = &node{run: r}
	w.runs = append(w.runs, r)
	return r
}

// withHash is the run of a hash; nil: there is none.
func (w *world) withHash(hash string) *run {
	for _, r := range w.runs {
		if r.plan.Run == hash {
			return r
		}
	}
	return nil
}

// newestCheckpoint is the durable one with the greatest mark; nil: there is none.
func (r *run) newestCheckpoint() *node { return newestOf(r.checkpoints) }

// hasEnded reports whether the run is finished or has failed.
func (r *run) hasEnded() bool { return r.finished || r.failure != "" }
