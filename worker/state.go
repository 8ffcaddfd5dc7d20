package worker

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// The state that a replica holds: what it is called, how it comes and goes, and what
// the coordinator is told of it.

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
func (r *replica) take(ctx context.Context, s *session, source message.Source) error {
	var st *state.State
	var err error
	want := source.State
	switch source.Kind {
	case message.SourceOwn:
		return r.expect(want)
	case message.SourcePeer:
		st, err = fetchFromPeer(ctx, source.Peer, r, want, s.w.log)
	case message.SourceCheckpoint:
		st, err = fetchCheckpoint(ctx, s.control, r, want, s.w.log)
	case message.SourceFresh:
		st = state.Fresh(r.experiment.Velocity().Layout(), r.experiment.Seed)
	default:
		return fmt.Errorf("unknown source of state: %s", source.Kind)
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

// hello presents the worker to the coordinator, with the state that it holds from
// before.
func (w *worker) hello() message.Hello {
	hello := message.Hello{
		Worker: message.Worker{
			ID:          w.id,
			Version:     ergoflow.Build(),
			DataAddress: w.address,
			Device:      w.backend.Name,
			PID:         os.Getpid(),
			Secret:      w.secret,
		},
		Newest: w.rings.Newest(),
	}
	if r := w.replica.Load(); r != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		hello.Run, hello.HasState, hello.State = r.plan.Run, r.held, r.mark()
	}
	return hello
}

// report says which state the worker holds, for the coordinator to choose the
// generation's from.
func (w *worker) report(ctx context.Context, generation ergoflow.Generation) (message.Report, error) {
	report := message.Report{Generation: generation}
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
		return message.Report{}, err
	}
	hash := state.HashParameters(theta)
	report.HasState, report.State, report.Hash = true, r.mark(), string(hash[:])
	return report, nil
}
