// Package processor draws from a trained network on the processor itself: no compute backend is
// opened and nothing is compiled, so that the first sample takes as long as every other one. It
// computes in float32, as package sampler, and its samples differ by rounding.
package processor

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

// host is a network that the processor evaluates: deeponet.Host or sensor.Host. It is safe for
// concurrent use.
type host interface {
	// CodeSize is the length of a function's code.
	CodeSize() int
	// Encode returns the codes [n, CodeSize] of n functions from the network's inputs.
	Encode(ctx context.Context, inputs [][]float32, n int) ([]float32, error)
	// At returns the velocity at time t of the function with that code: it writes v [n, d] at n
	// states x [n, d] to dst.
	At(code []float32, t float64) func(dst, x []float32)
	// Block is how many states At computes together.
	Block() int
}

// Sampler draws from a network. It is safe for concurrent use.
type Sampler struct {
	model       velocity.Model
	host        host
	conditioner flow.Conditioner
	frame       flow.Frame
}

// New makes a sampler of a state of that network. The conditioner makes the network's inputs
// with the normalisation of the state.
func New(model velocity.Model, conditioner flow.Conditioner, st *state.State) (*Sampler, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	if !st.Layout.Equal(model.Layout()) {
		return nil, sampler.ErrOtherNetwork
	}
	frame, err := flow.FrameOf(st.Normalisation, model.Dim())
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	s := &Sampler{model: model, conditioner: conditioner, frame: frame}
	switch config := model.(type) {
	case deeponet.Config:
		s.host, err = deeponet.NewHost(config, st.Parameters)
	case sensor.Config:
		s.host, err = sensor.NewHost(config, st.Parameters)
	default:
		err = fmt.Errorf("the processor alone evaluates no network of type %T", model)
	}
	return s, err
}

// Sample draws n samples [n, d] of each of the functions, from the noise that package sampler
// takes for the same seed.
func (s *Sampler) Sample(ctx context.Context, functions []flow.Subject, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	return sampler.Each(s.SampleEach).All(ctx, functions, n, solver, seed)
}

// SampleEach is a sampler.Each. All processors compute: several draws at once, and the samples
// of each in blocks.
func (s *Sampler) SampleEach(ctx context.Context, draws []sampler.Draw, solver ode.Solver) (samples [][]float32, failures []error, err error) {
	d := s.model.Dim()
	functions, err := sampler.Functions(draws, d)
	if err != nil {
		return nil, nil, err
	}
	codes, err := sampler.Codes(ctx, s.conditioner, len(s.model.Inputs()), sampler.GroupOf(s.model), functions, s.host.Encode)
	if err != nil {
		return nil, nil, err
	}
	samples, failures = make([][]float32, len(draws)), make([]error, len(draws))
	err = simulate.Each(ctx, len(draws), func(ctx context.Context, i int) error {
		draw, code := draws[i], codes[i*s.host.CodeSize():(i+1)*s.host.CodeSize()]
		x := sampler.Noise(draw.Seed, draw.Place, draw.N*d)
		if _, err := solver.Integrate(ctx, s.field(ctx, code), x, 0, 1); err != nil {
			if ctx.Err() != nil {
				return err
			}
			failures[i] = fmt.Errorf("sample function %d: %w", draw.Place, err)
			return nil
		}
		if _, failures[i] = flow.Restore(s.conditioner, s.frame, functions[i], x); failures[i] == nil {
			samples[i] = x
		}
		return nil
	}, nil)
	if err != nil {
		return nil, nil, err
	}
	return samples, failures, nil
}

// field is the velocity of the function with that code.
func (s *Sampler) field(ctx context.Context, code []float32) ode.Field {
	size := s.host.Block() * s.model.Dim()
	return func(dst, x []float32, t float64) error {
		velocity := s.host.At(code, t)
		return simulate.Each(ctx, (len(x)+size-1)/size, func(_ context.Context, i int) error {
			first, last := i*size, min((i+1)*size, len(x))
			velocity(dst[first:last], x[first:last])
			return nil
		}, nil)
	}
}
