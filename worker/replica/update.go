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
	losses, count, err := r.applySum(u)
	if err != nil {
		return 0, 0, err
	}
	for i, used := range r.records(u) {
		r.ledger.Append(u.Step+ergoflow.Step(i), u.Generation, u.Workers, used)
	}
	r.publish(u)
	r.losses, r.generation = append(r.losses, losses...), u.Generation
	for _, l := range losses {
		loss += l / float64(len(losses))
	}
	return loss, int64(count) * int64(len(losses)), nil
}

// applySum changes parameters and moments, and returns the mean loss of every step of the
// update and the number of samples of each.
func (r *Replica) applySum(u Update) (losses []float64, samples float64, err error) {
	if r.local() {
		return r.applyRound(u)
	}
	if err := r.trainer.Apply(u.Sum, int64(u.Step)); err != nil {
		return nil, 0, err
	}
	loss, samples := trainer.Loss(u.Sum)
	return []float64{loss}, samples, nil
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
	case len(u.Used) != r.recordLength():
		return fmt.Errorf("the update's ledger record has %d numbers, not %d", len(u.Used), r.recordLength())
	case len(u.Workers) < 1 || len(u.Workers) > ergoflow.MaxWorld:
		return fmt.Errorf("the update comes from %d workers, not from 1 to %d", len(u.Workers), ergoflow.MaxWorld)
	}
	return nil
}
