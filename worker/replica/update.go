package replica

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/ledger"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// An Update takes the training state from one step to the next.
type Update struct {
	Step       ergoflow.Step // number of updates before it
	Generation ergoflow.Generation
	Workers    []ergoflow.WorkerID // of the generation, by rank
	Used       ledger.Record       // the samples in the sum
	Sum        []float32           // [P+2]: gradient, loss and number of samples, summed over the ranks
}

// clone copies what the owner of u may overwrite.
func (u Update) clone() *Update {
	u.Used, u.Sum = slices.Clone(u.Used), slices.Clone(u.Sum)
	return &u
}

// Apply updates the training state, and returns the mean loss and the number of
// samples of the batch. On an error the state is as before.
func (r *Replica) Apply(u Update) (loss float64, samples int64, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.checkNext(u); err != nil {
		return 0, 0, err
	}
	if err := r.trainer.Apply(u.Sum, int64(u.Step)); err != nil {
		return 0, 0, err
	}
	loss, count := trainer.Loss(u.Sum)
	r.ledger.Append(u.Step, u.Generation, u.Workers, u.Used)
	r.publish(u)
	r.losses, r.generation = append(r.losses, loss), u.Generation
	return loss, int64(count), nil
}

// CheckNext fails unless u, whose sum may be missing, is the next update.
func (r *Replica) CheckNext(u Update) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.checkNext(u)
}

// checkNext is CheckNext; mu is held.
func (r *Replica) checkNext(u Update) error {
	switch step := r.step(); {
	case !r.hasState:
		return ErrNoState
	case u.Step != step || step >= r.plan.Steps:
		return fmt.Errorf("the update after step %d does not fit: the state is at step %d of %d", u.Step, step, r.plan.Steps)
	case len(u.Used) != 2*r.plan.Shards:
		return fmt.Errorf("the update's ledger record has %d numbers, not %d", len(u.Used), 2*r.plan.Shards)
	case len(u.Workers) < 1 || len(u.Workers) > ergoflow.MaxWorld:
		return fmt.Errorf("the update comes from %d workers, not from 1 to %d", len(u.Workers), ergoflow.MaxWorld)
	}
	return nil
}
