package experiment

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Start is the state from which a warm start begins. It enters Hash: a warm start is another
// run. The run keeps the normalisation, so that at step 0 it samples exactly as the state that
// it begins from; moments of the optimizer begin at zero, and the schedule of the learning
// rate begins anew (docs/decisions/warm-start.md).
type Start struct {
	Run  string `json:"run" yaml:"run"`   // that made the state
	Step int64  `json:"step" yaml:"step"` // of that run
	// Parameters is the SHA-256 of the parameters (state.HashParameters), in hexadecimal.
	Parameters string `json:"parameters" yaml:"parameters"`
	// Normalisation of the network's inputs, and of states if they are standardised.
	Normalisation shard.Normalisation `json:"normalisation" yaml:"normalisation"`
}

// ErrStart means that a run cannot begin from a state.
var ErrStart = errors.New("the run cannot begin from this state")

// parameters is the hash of the parameters; empty without a start.
func (s *Start) parameters() string {
	if s == nil {
		return ""
	}
	return s.Parameters
}

const (
	maxRunName   = 64
	maxStandards = 1 << 10 // entries of a normalisation
)

// startFits reports a start that is malformed, or that lacks a standard which the network's
// inputs or the flow's coordinates need. f is the experiment's family.
func (e Experiment) startFits(f family.Family) error {
	s := e.Training.Start
	if s == nil {
		return nil
	}
	if s.Run == "" || len(s.Run) > maxRunName {
		return &FieldError{"training.start.run", fmt.Sprintf("%q", s.Run), fmt.Sprintf("a run's hash, of up to %d characters", maxRunName)}
	}
	if s.Step < 0 {
		return &FieldError{"training.start.step", s.Step, "at least 0"}
	}
	if err := parametersHash("training.start.parameters", s.Parameters); err != nil {
		return err
	}
	const path = "training.start.normalisation"
	if n := len(s.Normalisation); n > maxStandards {
		return &FieldError{path, fmt.Sprintf("of %d fields", n), fmt.Sprintf("of at most %d", maxStandards)}
	}
	if err := s.Normalisation.Validate(); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	for _, a := range e.Alternatives() {
		if _, err := a.Conditioner(f, s.Normalisation); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	frame, err := flow.FrameOf(s.Normalisation, f.Dim())
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if standardised := e.Training.States == flow.Standardised || e.Training.States.Own(); standardised != (frame != nil) {
		return &FieldError{"training.states", fmt.Sprintf("%q", e.Training.States), fmt.Sprintf("%q, as of the state from which the run begins", statesOf(frame))}
	}
	return nil
}

// parametersHash reports what is no hash of parameters.
func parametersHash(path, hash string) error {
	if sum, err := hex.DecodeString(hash); err != nil || len(sum) != 32 || hash != hex.EncodeToString(sum) {
		return &FieldError{path, fmt.Sprintf("%q", hash), "a SHA-256 of 64 lower-case hexadecimal digits"}
	}
	return nil
}

// statesOf is the kind of states of a frame.
func statesOf(frame flow.Frame) flow.States {
	if frame == nil {
		return flow.Raw
	}
	return flow.Standardised
}

// StartFrom is the experiment as a warm start from an encoded state, and its state at step 0,
// encoded. It fails with ErrStart if the networks differ in a tensor or in the meaning of
// their inputs, or if the state may have learned from the functions that e holds out.
func (e Experiment) StartFrom(encoded []byte) (Experiment, []byte, error) {
	parent, st, err := DecodeState(encoded)
	if err != nil {
		return e, nil, err
	}
	if parent.Distillation != nil {
		return e, nil, fmt.Errorf("%w: %w, and its velocities are not those of a flow", ErrStart, ErrDistilled)
	}
	if err := errors.Join(e.sameNetwork(parent), e.heldOutFrom(parent)); err != nil {
		return e, nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	hash := st.ParameterHash()
	e.Training.Start = &Start{
		Run: st.Run, Step: int64(st.Step), Parameters: hex.EncodeToString(hash[:]), Normalisation: st.Normalisation,
	}
	if err := e.Validate(); err != nil {
		return e, nil, fmt.Errorf("%w: %w", ErrStart, err)
	}
	config, err := json.Marshal(e)
	if err != nil {
		return e, nil, fmt.Errorf("encode experiment %s: %w", e.Name, err)
	}
	zeros := make([]float32, len(st.Parameters))
	first := &state.State{
		Run: e.Hash(), Layout: st.Layout, Parameters: st.Parameters, M: zeros, V: zeros,
		Normalisation: st.Normalisation, Config: config,
	}
	encoded, err = first.Encode()
	return e, encoded, err
}

// IsStart checks that a state is the one at step 0 of the experiment's run, and says of what it
// is the state otherwise.
func (e Experiment) IsStart(st *state.State) error {
	s := e.Training.Start
	if s == nil {
		return fmt.Errorf("%w: run %.12s begins from random parameters", ErrStart, e.Hash())
	}
	hash := st.ParameterHash()
	switch {
	case st.Run != e.Hash() || st.Step != 0:
		return fmt.Errorf("%w: it is of run %.12s at step %d, not of run %.12s at step 0", ErrStart, st.Run, st.Step, e.Hash())
	case hex.EncodeToString(hash[:]) != s.Parameters:
		return fmt.Errorf("%w: the SHA-256 of its parameters is %x, the run begins from %s", ErrStart, hash, s.Parameters)
	case !maps.Equal(st.Normalisation, s.Normalisation):
		return fmt.Errorf("%w: it has another normalisation than the run", ErrStart)
	case slices.ContainsFunc(st.M, notZero) || slices.ContainsFunc(st.V, notZero):
		return fmt.Errorf("%w: its optimizer has moments, and those of the run begin at zero", ErrStart)
	}
	return nil
}

func notZero(x float32) bool { return x != 0 }

// PlanOfStart decodes the state at step 0 of a warm start, and returns the plan of its run. It
// fails with ErrStart for any other state.
func PlanOfStart(encoded []byte) (ergoflow.Plan, error) {
	e, st, err := DecodeState(encoded)
	if err != nil {
		return ergoflow.Plan{}, err
	}
	if err := e.IsStart(st); err != nil {
		return ergoflow.Plan{}, err
	}
	return e.Plan()
}

// inputs is the experiment with what gives the network's inputs their meaning alone: not the
// number of sensors, and not the probes that show coefficients at nodes, which are what they are
// without.
func (e Experiment) inputs() Experiment {
	switch {
	case e.onGrid():
		e.Probes = nil
	case e.Model.Sensor != nil:
		e = e.withSensors(1)
	}
	return e
}

// sameNetwork reports a tensor, or an input, in which the network differs from the parent's.
func (e Experiment) sameNetwork(parent Experiment) error {
	if err := sameTensors(e.Velocity().Layout(), parent.Velocity().Layout()); err != nil {
		return err
	}
	a, b := e.inputs(), parent.inputs()
	for _, c := range []struct {
		what      string
		own, have any
	}{
		{"model", a.Model, b.Model}, {"probes", a.scaledProbes(), b.scaledProbes()},
		{"states of each equation", ownStates(e), ownStates(parent)},
	} {
		own, err := json.Marshal(c.own)
		if err != nil {
			return err
		}
		have, err := json.Marshal(c.have)
		if err != nil {
			return err
		}
		if !bytes.Equal(own, have) {
			return fmt.Errorf("its tensors have the same shapes and another meaning (%s: %s, not %s)", c.what, have, own)
		}
	}
	return nil
}

// sameTensors names the first tensor of the network that a state lacks or has in another shape.
func sameTensors(network, of parameters.Layout) error {
	for i, want := range network {
		if i >= len(of) {
			return fmt.Errorf("it lacks the tensor %s %v of the network", want.Name, want.Shape)
		}
		switch have := of[i]; {
		case have.Name != want.Name:
			return fmt.Errorf("it has the tensor %s %v where the network has %s %v", have.Name, have.Shape, want.Name, want.Shape)
		case !slices.Equal(have.Shape, want.Shape):
			return fmt.Errorf("its tensor %s has shape %v, the network's %v", want.Name, have.Shape, want.Shape)
		}
	}
	if len(of) > len(network) {
		return fmt.Errorf("it has the tensor %s %v, which the network lacks", of[len(network)].Name, of[len(network)].Shape)
	}
	return nil
}

// heldOutFrom reports that a state of the parent may have learned from functions that e holds
// out. What the parent itself began from has learned from none of those that the parent holds
// out, by the same rule.
func (e Experiment) heldOutFrom(parent Experiment) error {
	a, b := e.Data, parent.Data
	if a.Family != b.Family || a.Seed != b.Seed {
		return nil // other functions
	}
	first, count := a.ShardRange(a.HeldOutShard())
	for k := range b.Shards {
		if f, n := b.ShardRange(k); first < f+n && f < first+count {
			return fmt.Errorf("it has learned from function %d, which data holds out (%d to %d)", max(f, first), first, first+count-1)
		}
	}
	theirs, n := b.ShardRange(b.HeldOutShard())
	if parent.Training.Start != nil && (first < theirs || first+count > theirs+n) {
		return fmt.Errorf("it began from an earlier state, which is known only not to have learned from functions %d to %d; data holds out %d to %d",
			theirs, theirs+n-1, first, first+count-1)
	}
	return nil
}

// ownStates are the states of an experiment in which each equation has its own coordinates; empty: it has not.
func ownStates(e Experiment) flow.States {
	if e.Training.States.Own() {
		return e.Training.States
	}
	return ""
}
