package serve

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/request"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Source is an encoded training state and what it is called.
type Source struct {
	Name    string
	Version string
	Aliases []string
	Encoded []byte
	Tables  string // directory of the sampler's tables
}

// Model is one loaded state.
type Model struct {
	Name, Version string
	Loaded        time.Time

	experiment experiment.Experiment
	family     family.Family
	reader     *request.Reader
	engine     *engine.Engine
	queue      *queue
	solver     ode.Solver // the default one
	step       int64
	run        string
}

// load decodes a state and makes it ready for requests.
func load(ctx context.Context, s Source, backend string) (*Model, error) {
	trained, st, err := experiment.DecodeState(s.Encoded)
	if err != nil {
		return nil, fmt.Errorf("model %s@%s: %w", s.Name, s.Version, err)
	}
	return open(ctx, s, trained.Inference(), st, backend)
}

func open(ctx context.Context, s Source, e experiment.Experiment, st *state.State, backend string) (*Model, error) {
	f, err := e.Family()
	if err != nil {
		return nil, fmt.Errorf("model %s@%s: %w", s.Name, s.Version, err)
	}
	solver, err := e.Solver("")
	if err != nil {
		return nil, fmt.Errorf("model %s@%s: %w", s.Name, s.Version, err)
	}
	drawer, err := engine.Open(engine.Options{Backend: backend, Tables: s.Tables}, e, f, st)
	if err == nil {
		err = drawer.Prepare(ctx, solver)
	}
	if err != nil {
		return nil, fmt.Errorf("model %s@%s: %w", s.Name, s.Version, err)
	}
	m := &Model{
		Name: cmp.Or(s.Name, e.Name), Version: s.Version, Loaded: time.Now(),
		experiment: e, family: f, reader: request.NewReader(e, f, st.Normalisation), engine: drawer,
		step: int64(st.Step), run: st.Run, solver: solver,
	}
	m.queue = newQueue(drawer)
	return m, m.warm(ctx)
}

// warm answers one request: of the first held-out function, whose answer nobody reads.
func (m *Model) warm(ctx context.Context) error {
	if err := m.reader.Prepare(ctx); err != nil {
		return fmt.Errorf("model %s@%s: %w", m.Name, m.Version, err)
	}
	first, _ := m.experiment.Data.ShardRange(m.experiment.Data.HeldOutShard())
	target, err := m.reader.Resolve(ctx, request.Request{Function: first})
	if err != nil {
		return fmt.Errorf("model %s@%s: function %d: %w", m.Name, m.Version, first, err)
	}
	x, err := target.Draw(ctx, m.engine, 256, m.solver, 0)
	switch {
	case errors.Is(err, request.ErrUnlearned):
		return nil
	case err != nil:
		return fmt.Errorf("model %s@%s: %w", m.Name, m.Version, err)
	}
	target.Certify(x)
	return nil
}

// close ends a model after its last request.
func (m *Model) close() {
	m.queue.close()
	m.engine.Close()
}

// dim is the dimension of its samples.
func (m *Model) dim() int { return m.experiment.Velocity().Dim() }

// grid is the one at whose nodes it reads formulas; the zero grid where it reads none.
func (m *Model) grid() sde.Grid {
	switch f := m.family.(type) {
	case family.Tabulated:
		return f.Grid()
	case family.TabulatedPlane:
		return f.Grid()
	}
	return sde.Grid{}
}
