// Package sampler draws from a trained network: noise x₀ ~ N(0,1) at t = 0,
// carried along dx/dt = v(x, t) to t = 1, is distributed as the invariant
// measure that the network predicts.
package sampler

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/deeponet"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/ode"
	"github.com/ergoflow/ergoflow/model/state"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

const (
	// chunk is the largest number of samples per execution: enough for the
	// products to run at full speed.
	chunk = 4096
	// encodings is the number of functions per execution of the encoder.
	encodings = 16
	// maxSamples of one function bounds a mistyped request.
	maxSamples = 1 << 28
)

// Sampler holds the parameters on a device. It is for one goroutine.
type Sampler struct {
	backend       *backend.Backend
	model         deeponet.Config
	normalisation shard.Normalisation
	theta         backend.Buffer
	encoder       *backend.Program
	velocities    map[int]*backend.Program // by samples per execution
}

// New puts the parameters of a state of that network on the device.
func New(b *backend.Backend, model deeponet.Config, st *state.State) (*Sampler, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	if want := model.Layout(); !st.Layout.Equal(want) {
		return nil, fmt.Errorf("sampler: the state holds another network than the configuration describes")
	}
	s := &Sampler{
		backend: b, model: model, normalisation: st.Normalisation,
		velocities: make(map[int]*backend.Program),
	}
	var err error
	if s.theta, err = b.Upload(st.Parameters, len(st.Parameters)); err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	coefficients := backend.Shape(encodings, model.Grid)
	inputs := []shapes.Shape{backend.Shape(len(st.Parameters)), coefficients, coefficients}
	s.encoder, err = b.Compile("encode", inputs, func(in []*graph.Node) []*graph.Node {
		network := model.Network(model.Split(in[0]))
		return []*graph.Node{network.Encode(in[1], in[2])}
	})
	if err != nil {
		backend.Free(s.theta)
		return nil, err
	}
	return s, nil
}

// Close frees everything on the device.
func (s *Sampler) Close() {
	backend.Free(s.theta)
	s.encoder.Close()
	for _, program := range s.velocities {
		program.Close()
	}
}

// Sample draws n samples for each of the functions, whose coefficients are on
// the grid that the network was trained with. Function i starts from noise that
// is a function of (seed, i) alone, and is integrated on its own, so that its
// samples do not depend on what else is asked for.
func (s *Sampler) Sample(ctx context.Context, functions []sde.Coefficients, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	if n < 1 || n > maxSamples {
		return nil, fmt.Errorf("sample: %d samples, not in 1…%d", n, maxSamples)
	}
	for i, c := range functions {
		if err := c.Validate(); err != nil {
			return nil, fmt.Errorf("sample function %d: %w", i, err)
		}
		if c.Grid.N != s.model.Grid {
			return nil, fmt.Errorf("sample function %d: coefficients on %d nodes, the network takes %d", i, c.Grid.N, s.model.Grid)
		}
	}
	rows, err := s.encode(ctx, functions)
	if err != nil {
		return nil, fmt.Errorf("encode functions: %w", err)
	}
	samples := make([][]float32, len(functions))
	for i, row := range rows {
		x := make([]float32, n)
		source := random.New(seed, "sampler", uint64(i))
		for j := range x {
			x[j] = float32(source.NormFloat64())
		}
		if err := s.integrate(ctx, x, row, solver); err != nil {
			return nil, fmt.Errorf("sample function %d: %w", i, err)
		}
		samples[i] = x
	}
	return samples, nil
}

// encode returns the row of each function.
func (s *Sampler) encode(ctx context.Context, functions []sde.Coefficients) ([][]float32, error) {
	width := s.model.TrunkWidth + 1
	rows := make([][]float32, 0, len(functions))
	for first := 0; first < len(functions); first += encodings {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		// What is left of the last execution are zeros, and dropped.
		drift := make([]float32, encodings*s.model.Grid)
		diffusion := make([]float32, encodings*s.model.Grid)
		group := functions[first:min(first+encodings, len(functions))]
		for i, c := range group {
			b, sigma := flow.Normalise(c.Drift, c.Diffusion, s.normalisation)
			copy(drift[i*s.model.Grid:], b)
			copy(diffusion[i*s.model.Grid:], sigma)
		}
		out := make([]float32, encodings*width)
		if err := s.runEncoder(out, drift, diffusion); err != nil {
			return nil, err
		}
		for i := range group {
			rows = append(rows, out[i*width:(i+1)*width])
		}
	}
	return rows, nil
}

func (s *Sampler) runEncoder(out, drift, diffusion []float32) error {
	inputs := []backend.Buffer{s.theta}
	defer func() { backend.Free(inputs[1:]...) }()
	for _, values := range [][]float32{drift, diffusion} {
		buffer, err := s.backend.Upload(values, encodings, s.model.Grid)
		if err != nil {
			return err
		}
		inputs = append(inputs, buffer)
	}
	outputs, err := s.encoder.Run(inputs...)
	if err != nil {
		return err
	}
	defer backend.Free(outputs...)
	return backend.Download(out, outputs[0])
}

// integrate carries the states x of one function from noise to samples.
func (s *Sampler) integrate(ctx context.Context, x, row []float32, solver ode.Solver) error {
	width := min(chunk, ceilPowerOfTwo(len(x)))
	program, err := s.velocity(width)
	if err != nil {
		return err
	}
	code, err := s.backend.Upload(row, 1, len(row))
	if err != nil {
		return err
	}
	defer backend.Free(code)
	padded := make([]float32, width)
	field := func(dst, x []float32, t float64) error {
		time, err := s.backend.Upload([]float32{float32(t)})
		if err != nil {
			return err
		}
		defer backend.Free(time)
		for first := 0; first < len(x); first += width {
			last := min(first+width, len(x))
			if last-first == width {
				err = s.evaluate(program, dst[first:last], x[first:last], code, time)
			} else {
				clear(padded[copy(padded, x[first:last]):])
				err = s.evaluate(program, padded, padded, code, time)
				copy(dst[first:last], padded)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
	_, err = solver.Integrate(ctx, field, x, 0, 1)
	return err
}

// evaluate computes the velocity of one execution's states.
func (s *Sampler) evaluate(program *backend.Program, dst, x []float32, code, time backend.Buffer) error {
	states, err := s.backend.Upload(x, 1, len(x))
	if err != nil {
		return err
	}
	defer backend.Free(states)
	outputs, err := program.Run(s.theta, code, states, time)
	if err != nil {
		return err
	}
	defer backend.Free(outputs...)
	return backend.Download(dst, outputs[0])
}

// velocity returns the program for that many samples of one function.
func (s *Sampler) velocity(width int) (*backend.Program, error) {
	if program, ok := s.velocities[width]; ok {
		return program, nil
	}
	inputs := []shapes.Shape{
		backend.Shape(s.model.Layout().Size()), backend.Shape(1, s.model.TrunkWidth+1),
		backend.Shape(1, width), backend.Shape(),
	}
	program, err := s.backend.Compile(fmt.Sprintf("velocity of %d", width), inputs, func(in []*graph.Node) []*graph.Node {
		network := s.model.Network(s.model.Split(in[0]))
		times := graph.BroadcastToDims(in[3], 1, width)
		return []*graph.Node{network.Velocity(in[1], in[2], times)}
	})
	if err != nil {
		return nil, err
	}
	s.velocities[width] = program
	return program, nil
}

func ceilPowerOfTwo(n int) int {
	p := 1
	for p < n {
		p *= 2
	}
	return p
}
