package replica

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// ErrNoState means that the replica has no training state yet.
var ErrNoState = errors.New("no training state")

// Step is the number of updates applied.
func (r *Replica) Step() ergoflow.Step {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.step()
}

// step is Step; mu is held.
func (r *Replica) step() ergoflow.Step { return ergoflow.Step(len(r.losses)) }

// Mark is the mark of the training state, and whether there is one.
func (r *Replica) Mark() (mark ergoflow.Mark, hasState bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.mark(), r.hasState
}

// mark is Mark; mu is held.
func (r *Replica) mark() ergoflow.Mark {
	return ergoflow.Mark{Generation: r.generation, Step: r.step()}
}

// Require fails unless the training state has that mark.
func (r *Replica) Require(want ergoflow.Mark) error {
	if mark, hasState := r.Mark(); !hasState || mark != want {
		return fmt.Errorf("the coordinator expects this worker's state to be at %s, but it is at %s", want, mark)
	}
	return nil
}

// Fingerprint is the mark of the training state with the hash of its parameters,
// or ErrNoState.
func (r *Replica) Fingerprint() (ergoflow.Mark, [sha256.Size]byte, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.hasState {
		return ergoflow.Mark{}, [sha256.Size]byte{}, ErrNoState
	}
	theta := make([]float32, r.trainer.Size())
	if err := r.copyVectors(theta, nil, nil); err != nil {
		return ergoflow.Mark{}, [sha256.Size]byte{}, err
	}
	return r.mark(), state.HashParameters(theta), nil
}

// State copies the training state to the host, and says which generation made its
// last update. Without a state it fails with ErrNoState.
func (r *Replica) State() (*state.State, ergoflow.Generation, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.copyState()
}

// copyState is State; mu is held.
func (r *Replica) copyState() (*state.State, ergoflow.Generation, error) {
	if !r.hasState {
		return nil, 0, ErrNoState
	}
	size := r.trainer.Size()
	st := &state.State{
		Step:          r.step(),
		Run:           r.plan.Run,
		Layout:        r.Layout(),
		Parameters:    make([]float32, size),
		M:             make([]float32, size),
		V:             make([]float32, size),
		Losses:        append([]float64(nil), r.losses...),
		Ledger:        r.ledger.Clone(),
		Normalisation: r.normalisation,
		Config:        r.plan.Config,
	}
	st.Outer = slices.Clone(r.shared.velocity)
	return st, r.generation, r.copyVectors(st.Parameters, st.M, st.V)
}

// Load replaces the training state by one whose last update the generation made.
// It ends all subscriptions, and it takes over the state's ledger.
func (r *Replica) Load(st *state.State, generation ergoflow.Generation) error {
	if st.Run != "" && st.Run != r.plan.Run {
		return fmt.Errorf("state of run %.12s, not of %.12s", st.Run, r.plan.Run)
	}
	if !st.Layout.Equal(r.Layout()) {
		return errors.New("state of another network: its tensors differ")
	}
	switch {
	case !r.local() && st.Outer != nil:
		return errors.New("state of a run with local steps: this one sums every step")
	case r.local() && st.Outer == nil && st.Step > 0:
		return fmt.Errorf("the state at step %d lacks the velocity of the outer optimizer", st.Step)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endSubscriptions()
	r.hasState = false
	if err := r.takeVectors(st); err != nil {
		return err
	}
	r.losses, r.generation = append(r.losses[:0], st.Losses...), generation
	r.ledger = st.Ledger
	r.hasState = true
	return nil
}
