package table

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// maxGroup bounds the equations that share one pass over the table.
const maxGroup = 64

// ErrNotLine means that a network's states are not on the line.
var ErrNotLine = errors.New("tables are for networks on the line")

// Sampler draws from a network on the line by tables, one for each solver. It is safe for
// concurrent use.
type Sampler struct {
	host        *deeponet.Host
	conditioner flow.Conditioner
	frame       flow.Frame
	cache       cache

	mu     sync.Mutex
	tables map[string]*Table // by the name of the solver
}

// New makes a sampler of a state of that network. The conditioner makes the network's inputs
// with the normalisation of the state. Tables are kept as files in the directory dir, where a
// later sampler of the same state finds them; "" keeps none. New fails with ErrNotLine for
// networks that are not on the line.
func New(config deeponet.Config, conditioner flow.Conditioner, st *state.State, dir string) (*Sampler, error) {
	if config.Dimension != 1 {
		return nil, ErrNotLine
	}
	if !st.Layout.Equal(config.Layout()) {
		return nil, sampler.ErrOtherNetwork
	}
	host, err := deeponet.NewHost(config, st.Parameters)
	if err != nil {
		return nil, err
	}
	frame, err := flow.FrameOf(st.Normalisation, 1)
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	return &Sampler{
		host: host, conditioner: conditioner, frame: frame,
		cache: newCache(dir, config, st), tables: make(map[string]*Table),
	}, nil
}

// Prepare makes the solver's table, unless there is one. It fails with ErrSolver where there
// can be none.
func (s *Sampler) Prepare(ctx context.Context, solver ode.Solver) error {
	_, err := s.table(ctx, solver)
	return err
}

// table returns the solver's table: of an earlier call, from the directory, or new.
func (s *Sampler) table(ctx context.Context, solver ode.Solver) (*Table, error) {
	scheme, err := schemeOf(solver)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if t, ok := s.tables[scheme.name]; ok {
		return t, nil
	}
	t := s.cache.read(scheme, s.host.CodeSize())
	if t == nil {
		if t, err = build(ctx, s.host, scheme); err != nil {
			return nil, err
		}
		s.cache.write(t)
	}
	s.tables[scheme.name] = t
	return t, nil
}

// Sample draws n samples of each of the functions, from the noise that package sampler takes
// for the same seed: the samples differ by rounding and by the table's error.
func (s *Sampler) Sample(ctx context.Context, functions []flow.Subject, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	return sampler.Each(s.SampleEach).All(ctx, functions, n, solver, seed)
}

// SampleEach is a sampler.Each whose draws share passes over the table.
func (s *Sampler) SampleEach(ctx context.Context, draws []sampler.Draw, solver ode.Solver) (samples [][]float32, failures []error, err error) {
	functions, err := sampler.Functions(draws, 1)
	if err != nil {
		return nil, nil, err
	}
	t, err := s.table(ctx, solver)
	if err != nil {
		return nil, nil, err
	}
	codes, err := s.encode(ctx, functions)
	if err != nil {
		return nil, nil, err
	}
	samples, failures = make([][]float32, len(draws)), make([]error, len(draws))
	size := (len(draws) + runtime.GOMAXPROCS(0) - 1) / runtime.GOMAXPROCS(0)
	size = max(1, min(size, maxGroup))
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for first := 0; first < len(draws); first += size {
		last := min(first+size, len(draws))
		group.Go(func() error {
			x := samples[first:last]
			for i, d := range draws[first:last] {
				x[i] = sampler.Noise(d.Seed, d.Place, d.N)
			}
			code := codes[first*s.host.CodeSize() : last*s.host.CodeSize()]
			if err := t.integrate(groupCtx, x, code); err != nil {
				return err
			}
			for i, d := range draws[first:last] {
				failures[first+i] = s.outside(groupCtx, x[i], code[i*s.host.CodeSize():(i+1)*s.host.CodeSize()], solver, d)
				s.frame.Restore(x[i])
			}
			return nil
		})
	}
	return samples, failures, group.Wait()
}

// encode returns the codes of the functions, side by side.
func (s *Sampler) encode(ctx context.Context, functions []flow.Subject) ([]float32, error) {
	return sampler.Codes(ctx, s.conditioner, s.host.Inputs(), maxGroup, functions, s.host.Encode)
}

// integrate carries the states x of functions with these codes through the table. States that
// leave it become NaN.
func (t *Table) integrate(ctx context.Context, x [][]float32, codes []float32) error {
	fields := make([][]float32, len(t.layers)) // [functions, cells·terms] by number of the time
	if len(x) < runtime.GOMAXPROCS(0) {
		// Few products are bound by the memory that they read: all processors read together.
		err := simulate.Each(ctx, len(fields), func(_ context.Context, i int) error {
			fields[i] = make([]float32, len(x)*cells*terms)
			t.layers[i].Apply(fields[i], codes, kernels.Linear)
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	var free [][]float32
	own := make([]field, 3)
	for step := range t.scheme.steps {
		if err := ctx.Err(); err != nil {
			return err
		}
		at := t.scheme.evaluations(step)
		for i, f := range fields[:at[0]] {
			if f != nil {
				free, fields[i] = append(free, f), nil
			}
		}
		for _, i := range at {
			if fields[i] != nil {
				continue
			}
			if len(free) == 0 {
				free = append(free, make([]float32, len(x)*cells*terms))
			}
			fields[i], free = free[len(free)-1], free[:len(free)-1]
			t.layers[i].Apply(fields[i], codes, kernels.Linear)
		}
		for k := range x {
			for j, i := range at {
				own[j] = fields[i][k*cells*terms : (k+1)*cells*terms]
			}
			t.scheme.step(x[k], own)
		}
	}
	runtime.KeepAlive(t) // whose file holds the layers
	return nil
}

// outside computes by the network the samples of one draw that left the table.
func (s *Sampler) outside(ctx context.Context, x, code []float32, solver ode.Solver, d sampler.Draw) error {
	var left []int
	for i, v := range x {
		if v != v {
			left = append(left, i)
		}
	}
	if len(left) == 0 {
		return nil
	}
	noise := sampler.Noise(d.Seed, d.Place, d.N)
	states := make([]float32, len(left))
	for k, i := range left {
		states[k] = noise[i]
	}
	field := func(dst, x []float32, t float64) error {
		s.host.At(code, t)(dst, x)
		return nil
	}
	if _, err := solver.Integrate(ctx, field, states, 0, 1); err != nil {
		return fmt.Errorf("sample function %d: %w", d.Place, err)
	}
	for k, i := range left {
		x[i] = states[k]
	}
	return nil
}
