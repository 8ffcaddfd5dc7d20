package evaluate

import (
	"context"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/conditioning"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/ode"
	"github.com/ergoflow/ergoflow/model/sampler"
	"github.com/ergoflow/ergoflow/model/state"
)

// group is the number of functions between two reports of progress.
const group = 16

// networks are the rows of the state, of the state when it is told of another
// function, and of the same network before training. All start every function
// from the same noise.
func networks(o Options, functions []function) ([]method, error) {
	e := o.Experiment
	untrained := state.Fresh(e.Velocity().Layout(), e.Seed)
	untrained.Normalisation = o.State.Normalisation
	note := fmt.Sprintf("step %d of %d, %s", o.State.Step, e.Steps(), e.Evaluation.Solver)
	steps := evaluations(e.Evaluation.Solver)
	told := subjects(functions)
	row := func(kind Kind, name, note string, st *state.State, told []flow.Subject) method {
		return method{Row{Kind: kind, Name: name, Note: note, SequentialSteps: steps}, functions, o.network(st, functions, told)}
	}
	rows := []method{row(Model, "model", note, o.State, told)}
	if len(functions) > 1 {
		others, err := conditioning.Derangement(len(functions), e.Data.Seed)
		if err != nil {
			return nil, err
		}
		shuffled := make([]flow.Subject, len(told))
		for i, j := range others {
			shuffled[i] = told[j]
		}
		rows = append(rows, row(Shuffled, "shuffled sensors", "the model, told of another held-out function", o.State, shuffled))
	}
	return append(rows, row(Untrained, "untrained model", "the same network at its initial parameters", untrained, told)), nil
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

// network draws samples of the functions with the parameters of st, which is told
// of those subjects. Uploading and compiling count as set-up, for which one Euler
// step stands in front.
func (o Options) network(st *state.State, functions []function, told []flow.Subject) func(context.Context, func(done, total int)) ([][]float32, time.Duration, error) {
	return func(ctx context.Context, progress func(done, total int)) ([][]float32, time.Duration, error) {
		began := time.Now()
		e := o.Experiment.Inference()
		solver, err := ode.Parse(e.Evaluation.Solver)
		if err != nil {
			return nil, 0, err
		}
		conditioner, err := e.Conditioner(st.Normalisation)
		if err != nil {
			return nil, 0, err
		}
		s, err := sampler.New(o.Backend, e.Velocity(), conditioner, st)
		if err != nil {
			return nil, 0, err
		}
		defer s.Close()
		if _, err := s.Sample(ctx, told[:1], e.Evaluation.Samples, ode.Euler{Steps: 1}, e.Seed); err != nil {
			return nil, 0, err
		}
		setup := time.Since(began)
		samples := make([][]float32, 0, len(functions))
		for len(samples) < len(functions) {
			first := len(samples)
			last := min(first+group, len(functions))
			drawn, err := s.Sample(ctx, told[first:last], e.Evaluation.Samples, solver, noise(e, functions[first].index))
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
