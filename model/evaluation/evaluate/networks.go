package evaluate

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/evaluation/controls"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// group is the number of functions that are sampled at once, and between two reports
// of progress.
const group = 16

// networks are the rows of the trained state, with each function's own input, with
// another function's and, where there are physical times, with the longest time; and
// the row of the same network before training. A function starts from the same noise
// in all of them. release frees the device.
func networks(o Options, f family.Family, functions []heldOutFunction) (rows []method, release func(), err error) {
	e := o.Experiment
	initial := state.Fresh(e.Velocity().Layout(), e.Seed)
	initial.Normalisation = o.State.Normalisation
	note := fmt.Sprintf("step %d of %d, %s", o.State.Step, e.Steps(), e.Evaluation.Solver)
	steps := evaluations(e.Evaluation.Solver)
	n := &network{Options: o, family: f}
	own := subjects(functions)
	add := func(kind Kind, name, note string, st *state.State, inputs []flow.Subject) {
		rows = append(rows, method{
			row: Row{Kind: kind, Name: name, Note: note, SequentialSteps: steps}, against: functions, draw: n.draw(st, functions, inputs),
		})
	}
	add(Model, "model", note, o.State, own)
	if len(functions) > 1 {
		others, err := controls.Derangement(len(functions), e.Data.Seed)
		if err != nil {
			return nil, nil, err
		}
		shuffled := make([]flow.Subject, len(own))
		for i, j := range others {
			shuffled[i] = own[j]
		}
		add(Shuffled, "shuffled sensors", "the model, given the input of another held-out function", o.State, shuffled)
	}
	if timed, ok := f.(family.Timed); ok {
		late, err := atLongestTime(timed, own)
		if err != nil {
			return nil, nil, err
		}
		add(Longest, "model at the longest time", "the model, given the longest time instead of the function's own", o.State, late)
	}
	add(Untrained, "untrained model", "the same network at its initial parameters", initial, own)
	return rows, n.close, nil
}

// evaluations counts those of the network along a flow; 0 for an adaptive solver.
func evaluations(solver string) int {
	s, err := ode.Parse(solver)
	if err != nil {
		return 0 // drawing fails with the same error
	}
	switch s := s.(type) {
	case ode.Euler:
		return s.Steps
	case ode.RK4:
		return 4 * s.Steps
	}
	return 0
}

// network keeps its engine from its first row on, with the state of the last one.
type network struct {
	Options
	family family.Family
	engine *engine.Engine // nil before
	loaded *state.State
}

func (n *network) close() {
	if n.engine != nil {
		n.engine.Close()
		n.engine = nil
	}
}

// open loads the state and makes ready what the solver needs. Where a backend draws, it also
// takes one Euler step, which compiles it, so that compiling counts as set-up.
func (n *network) open(ctx context.Context, st *state.State, inputs []flow.Subject, solver ode.Solver) (err error) {
	e := n.Experiment.Inference()
	switch {
	case n.engine == nil:
		if n.engine, err = engine.Open(engine.Options{Shared: n.Backend}, e, n.family, st); err != nil {
			return err
		}
	case n.loaded == st:
		return nil
	default:
		if err := n.engine.Load(st); err != nil {
			return err
		}
	}
	compiled := n.loaded != nil
	n.loaded = st
	if err := n.engine.Prepare(ctx, solver); err != nil || compiled || n.engine.Of(solver) != engine.Network {
		return err
	}
	_, err = n.engine.Sample(ctx, inputs[:1], e.Evaluation.Samples, ode.Euler{Steps: 1}, e.Seed)
	return err
}

// draw samples the functions with a state that gets these inputs. All states must have
// the same normalisation.
func (n *network) draw(st *state.State, functions []heldOutFunction, inputs []flow.Subject) draw {
	return func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
		began := time.Now()
		e := n.Experiment
		solver, err := e.Solver("")
		if err != nil {
			return nil, 0, err
		}
		if err := n.open(ctx, st, inputs, solver); err != nil {
			return nil, 0, err
		}
		setup := time.Since(began)
		samples := make([][]float32, 0, len(functions))
		for len(samples) < len(functions) {
			first := len(samples)
			last := min(first+group, len(functions))
			drawn, err := n.engine.Sample(ctx, inputs[first:last], e.Evaluation.Samples, solver, noise(e, functions[first].index))
			if err != nil {
				return nil, 0, fmt.Errorf("functions %d to %d: %w", functions[first].index, functions[last-1].index, err)
			}
			samples = append(samples, drawn...)
			progress(len(samples), len(functions))
		}
		return samples, setup, nil
	}
}

// noise is the seed of the group of functions that begins with index.
func noise(e experiment.Experiment, index int) uint64 {
	seed, _ := random.Key(e.Seed, "evaluate/noise", uint64(index))
	return seed
}
