// Package engine chooses how the samples of a trained model are computed: from a table of the
// network (package table), by the network on the processor itself (package processor), or by the
// network on a compute backend (package sampler).
package engine

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/processor"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/sampling/table"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// Names of engines.
const (
	// Auto takes a table where the model and the solver allow one. Otherwise the network
	// computes: on a GPU where the backend is one, else on the processor itself.
	Auto = "auto"
	// Table fails where there can be no table.
	Table = "table"
	// Processor computes every velocity by the network, without a compute backend.
	Processor = "processor"
	// Network computes every velocity by the network on a compute backend.
	Network = "network"
)

// ErrNoTable means that the model or the solver allows no table.
var ErrNoTable = errors.New("there is no table of this model")

// Options say how to open an engine.
type Options struct {
	Name    string // Auto, Table, Processor or Network; "" is Auto
	Backend string // of the network, as backend.Open takes it
	Tables  string // directory of the tables' files; "" keeps none
	// Shared is used instead of Backend where it is not nil, and stays open.
	Shared *backend.Backend
}

// onGPU reports whether the backend would be a GPU.
func (o Options) onGPU() bool {
	if o.Shared != nil {
		return o.Shared.Name == backend.XLACUDA
	}
	return backend.TriesGPU(o.Backend)
}

// Engine samples with one state of a model. It opens a backend when one is first needed. It is
// safe for concurrent use, but for Load; a backend serves one request at a time.
type Engine struct {
	options     Options
	direct      string // Processor or Network: what computes where there is no table
	experiment  experiment.Experiment
	conditioner flow.Conditioner
	state       *state.State
	table       *table.Sampler // nil where the model allows none

	mu        sync.Mutex
	processor *processor.Sampler // nil before it is needed
	backend   *backend.Backend
	network   *sampler.Sampler
}

// Open opens an engine for a state of the experiment, whose family is f.
func Open(o Options, e experiment.Experiment, f family.Family, st *state.State) (*Engine, error) {
	switch o.Name {
	case "":
		o.Name = Auto
	case Auto, Table, Processor, Network:
	default:
		return nil, fmt.Errorf("unknown engine %q: known are %s, %s, %s and %s", o.Name, Auto, Table, Processor, Network)
	}
	if err := backend.CheckName(o.Backend); err != nil {
		return nil, err
	}
	conditioner, err := e.Conditioner(f, st.Normalisation)
	if err != nil {
		return nil, err
	}
	engine := &Engine{options: o, direct: Processor, experiment: e, conditioner: conditioner, state: st}
	if o.Name == Network || o.Name == Auto && o.onGPU() {
		engine.direct = Network
	}
	if o.Name == Processor || o.Name == Network {
		return engine, nil
	}
	if config, ok := e.Velocity().(deeponet.Config); ok {
		engine.table, err = table.New(config, conditioner, st, o.Tables)
		if err != nil && !errors.Is(err, table.ErrNotLine) {
			return nil, err
		}
	}
	if engine.table == nil && o.Name == Table {
		return nil, fmt.Errorf("%w: tables are for DeepONets on the line", ErrNoTable)
	}
	return engine, nil
}

// Close frees the backend.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.network == nil {
		return
	}
	e.network.Close()
	if e.backend != e.options.Shared {
		e.backend.Close()
	}
	e.network, e.backend = nil, nil
}

// Load replaces the state by another one of the same network and normalisation. The backend
// compiles nothing again.
func (e *Engine) Load(st *state.State) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.network != nil {
		if err := e.network.Load(st); err != nil {
			return err
		}
	}
	e.state, e.processor = st, nil
	if e.table == nil {
		return nil
	}
	var err error
	e.table, err = table.New(e.experiment.Velocity().(deeponet.Config), e.conditioner, st, e.options.Tables)
	return err
}

// Of names the engine that takes a solver's requests: Table, Processor or Network.
func (e *Engine) Of(solver ode.Solver) string {
	if e.table != nil && table.Supports(solver) {
		return Table
	}
	return e.direct
}

// Prepare makes everything ready that does not depend on a request: the table, or the backend.
func (e *Engine) Prepare(ctx context.Context, solver ode.Solver) error {
	switch {
	case e.Of(solver) == Table:
		return e.table.Prepare(ctx, solver)
	case e.options.Name == Table:
		return fmt.Errorf("%w: %w", ErrNoTable, table.ErrSolver)
	}
	if e.direct == Processor {
		_, err := e.onProcessor()
		return err
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.open()
}

// onProcessor makes the processor's sampler, unless there is one.
func (e *Engine) onProcessor() (*processor.Sampler, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.processor == nil {
		made, err := processor.New(e.experiment.Velocity(), e.conditioner, e.state)
		if err != nil {
			return nil, err
		}
		e.processor = made
	}
	return e.processor, nil
}

// open opens the backend and uploads the network. The caller holds the lock.
func (e *Engine) open() error {
	if e.network != nil {
		return nil
	}
	b := e.options.Shared
	if b == nil {
		var err error
		if b, err = backend.Open(e.options.Backend); err != nil {
			return err
		}
	}
	network, err := sampler.New(b, e.experiment.Velocity(), e.conditioner, e.state)
	if err != nil {
		if b != e.options.Shared {
			b.Close()
		}
		return err
	}
	e.backend, e.network = b, network
	return nil
}

// Sample draws n samples [n, d] of each of the functions. The noise of function i depends on
// (seed, i) alone.
func (e *Engine) Sample(ctx context.Context, functions []flow.Subject, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	return sampler.Each(e.SampleEach).All(ctx, functions, n, solver, seed)
}

// SampleEach is a sampler.Each, by the engine that Of names.
func (e *Engine) SampleEach(ctx context.Context, draws []sampler.Draw, solver ode.Solver) (samples [][]float32, failures []error, err error) {
	switch {
	case e.Of(solver) == Table:
		return e.table.SampleEach(ctx, draws, solver)
	case e.options.Name == Table:
		return nil, nil, fmt.Errorf("%w: %w", ErrNoTable, table.ErrSolver)
	case e.direct == Processor:
		s, err := e.onProcessor()
		if err != nil {
			return nil, nil, err
		}
		return s.SampleEach(ctx, draws, solver)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.open(); err != nil {
		return nil, nil, err
	}
	return e.network.SampleEach(ctx, draws, solver)
}

// Density draws samples by the network, with the network's density at them.
func (e *Engine) Density(ctx context.Context, draw sampler.Draw, solver ode.Solver) (sampler.Densities, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.open(); err != nil {
		return sampler.Densities{}, err
	}
	return e.network.Density(ctx, draw, solver)
}

// Law is the law of the model's samples on the line; it fails with ErrNoTable where the model
// or the solver allows no table.
func (e *Engine) Law(ctx context.Context, function flow.Subject, solver ode.Solver) (*table.Law, error) {
	if e.Of(solver) != Table {
		return nil, ErrNoTable
	}
	return e.table.Law(ctx, function, solver)
}
