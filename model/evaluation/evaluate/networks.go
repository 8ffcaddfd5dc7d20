package evaluate

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/evaluation/controls"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// group is the number of functions between two reports of progress.
const group = 16

// networks are the rows of the state, of the state when it is told of another
// function or, where there are physical times, of the longest, and of the same
// network before training. All start every function from the same noise. release
// frees the device.
func networks(o Options, f family.Family, functions []heldOutFunction) (rows []method, release func(), err error) {
	e := o.Experiment
	initial := state.Fresh(e.Velocity().Layout(), e.Seed)
	initial.Normalisation = o.State.Normalisation
	note := fmt.Sprintf("step %d of %d, %s", o.State.Step, e.Steps(), e.Evaluation.Solver)
	steps := evaluations(e.Evaluation.Solver)
	n := &network{Options: o, family: f}
	told := subjects(functions)
	add := func(kind Kind, name, note string, st *state.State, told []flow.Subject) {
		rows = append(rows, method{Row{Kind: kind, Name: name, Note: note, SequentialSteps: steps}, functions, n.draw(st, functions, told)})
	}
	add(Model, "model", note, o.State, told)
	if len(functions) > 1 {
		others, err := controls.Derangement(len(functions), e.Data.Seed)
		if err != nil {
			return nil, nil, err
		}
		shuffled := make([]flow.Subject, len(told))
		for i, j := range others {
			shuffled[i] = told[j]
		}
		add(Shuffled, "shuffled sensors", "the model, told of another held-out function", o.State, shuffled)
	}
	if timed, ok := f.(family.Timed); ok {
		late, err := atLongestTime(timed, told)
		if err != nil {
			return nil, nil, err
		}
		add(Longest, "model at the longest time", "the model, told of the longest time instead of the function's", o.State, late)
	}
	add(Untrained, "untrained model", "the same network at its initial parameters", initial, told)
	return rows, n.close, nil
}

// evaluations of the network along a flow; 0 where the solver chooses its steps.
func evaluations(solver string) int {
	s, err := ode.Parse(solver)
	if err != nil {
		return 0 // and no samples either
	}
	switch s := s.(type) {
	case ode.Euler:
		return s.Steps
	case ode.RK4:
		return 4 * s.Steps
	}
	return 0
}

// network is on the device from its first row on, with the state of the last.
type network struct {
	Options
	family  family.Family
	sampler *sampler.Sampler // nil before
	loaded  *state.State
}

func (n *network) close() {
	if n.sampler != nil {
		n.sampler.Close()
		n.sampler = nil
	}
}

// open uploads and, the first time, compiles, which counts as set-up; one Euler
// step stands in front of the others for that.
func (n *network) open(ctx context.Context, st *state.State, told []flow.Subject) error {
	switch {
	case n.sampler == nil:
	case n.loaded == st:
		return nil
	default:
		n.loaded = st
		return n.sampler.Load(st)
	}
	e := n.Experiment.Inference()
	conditioner, err := e.Conditioner(n.family, st.Normalisation)
	if err != nil {
		return err
	}
	if n.sampler, err = sampler.New(n.Backend, e.Velocity(), conditioner, st); err != nil {
		return err
	}
	n.loaded = st
	_, err = n.sampler.Sample(ctx, told[:1], e.Evaluation.Samples, ode.Euler{Steps: 1}, e.Seed)
	return err
}

// draw draws samples of the functions by a state that is told of those subjects.
// All states have the same normalisation.
func (n *network) draw(st *state.State, functions []heldOutFunction, told []flow.Subject) draw {
	return func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
		began := time.Now()
		e := n.Experiment
		solver, err := ode.Parse(e.Evaluation.Solver)
		if err != nil {
			return nil, 0, err
		}
		if err := n.open(ctx, st, told); err != nil {
			return nil, 0, err
		}
		setup := time.Since(began)
		samples := make([][]float32, 0, len(functions))
		for len(samples) < len(functions) {
			first := len(samples)
			last := min(first+group, len(functions))
			drawn, err := n.sampler.Sample(ctx, told[first:last], e.Evaluation.Samples, solver, noise(e, functions[first].index))
			if err != nil {
				return nil, 0, fmt.Errorf("functions %d to %d: %w", functions[first].index, functions[last-1].index, err)
			}
			samples = append(samples, drawn...)
			progress(len(samples), len(functions))
		}
		return samples, setup, nil
	}
}

// noise is the seed of the group of functions that begins with that one.
func noise(e experiment.Experiment, index int) uint64 {
	seed, _ := random.Key(e.Seed, "evaluate/noise", uint64(index))
	return seed
}
