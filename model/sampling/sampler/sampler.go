// Package sampler draws from a trained network. The flow dz/dt = v(z, t) carries
// noise z₀ ~ N(0,I) at t = 0 to a sample at t = 1 of the invariant measure that the
// network predicts, in the coordinates of the training states (flow.Frame).
package sampler

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/bits"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

const (
	// maxSamples and maxCoordinates bound one execution of the velocity: large
	// enough for its products to run at full speed.
	maxSamples     = 4096
	maxCoordinates = 1 << 15
	// maxFunctions and maxInputValues bound one execution of the encoder.
	maxFunctions   = 16
	maxInputValues = 1 << 22
	// MaxNumbers bounds the coordinates of all samples of one function, so that a
	// mistyped request does not exhaust the memory.
	MaxNumbers = 1 << 28
)

// ErrOtherNetwork means that a state does not belong to a network.
var ErrOtherNetwork = errors.New("sampler: the state belongs to another network than the configuration's")

// Sampler holds the parameters on a device. It is for one goroutine.
type Sampler struct {
	backend     *backend.Backend
	model       velocity.Model
	conditioner flow.Conditioner
	frame       flow.Frame
	theta       backend.Buffer
	encoder     *backend.Program
	group       int                      // functions per execution of the encoder
	codeSize    int                      // length of a function's code
	velocities  map[int]*backend.Program // by samples per execution
	derived     map[int]*backend.Program // velocities with derivatives, by the same
}

// New puts the parameters of a state on the device; the state must belong to that
// network. The conditioner makes the network's inputs with the normalisation of the
// state.
func New(b *backend.Backend, model velocity.Model, conditioner flow.Conditioner, st *state.State) (*Sampler, error) {
	if err := model.Validate(); err != nil {
		return nil, err
	}
	layout := model.Layout()
	if err := checkLayout(st, layout); err != nil {
		return nil, err
	}
	frame, err := flow.FrameOf(st.Normalisation, model.Dim())
	if err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	s := &Sampler{
		backend: b, model: model, conditioner: conditioner, frame: frame, group: GroupOf(model),
		velocities: make(map[int]*backend.Program), derived: make(map[int]*backend.Program),
	}
	if s.theta, err = b.Upload(st.Parameters, len(st.Parameters)); err != nil {
		return nil, fmt.Errorf("sampler: %w", err)
	}
	inputs := []shapes.Shape{backend.Shape(len(st.Parameters))}
	for _, input := range model.Inputs() {
		inputs = append(inputs, backend.Shape(append([]int{s.group}, input.Shape...)...))
	}
	s.encoder, err = b.Compile("encode", inputs, func(in []*graph.Node) []*graph.Node {
		code := model.Network(velocity.Split(layout, in[0]), layers.Float32).Encode(in[1:])
		s.codeSize = code.Shape().Dimensions[1]
		return []*graph.Node{code}
	})
	if err != nil {
		backend.Free(s.theta)
		return nil, err
	}
	return s, nil
}

// Load replaces the parameters by those of another state of the same network and
// normalisation. Nothing is compiled again.
func (s *Sampler) Load(st *state.State) error {
	if err := checkLayout(st, s.model.Layout()); err != nil {
		return err
	}
	theta, err := s.backend.Upload(st.Parameters, len(st.Parameters))
	if err != nil {
		return fmt.Errorf("sampler: %w", err)
	}
	backend.Free(s.theta)
	s.theta = theta
	return nil
}

func checkLayout(st *state.State, layout parameters.Layout) error {
	if !st.Layout.Equal(layout) {
		return ErrOtherNetwork
	}
	return nil
}

// Close frees everything on the device.
func (s *Sampler) Close() {
	backend.Free(s.theta)
	s.encoder.Close()
	for _, programs := range []map[int]*backend.Program{s.velocities, s.derived} {
		for _, program := range programs {
			program.Close()
		}
	}
}

// A Draw asks for N samples of one function, from the noise of function number Place of a request
// with that seed (Noise).
type Draw struct {
	Function flow.Subject
	N        int
	Seed     uint64
	Place    int
}

// Each draws the samples of several draws. The failures are those of single draws, by their
// places among them.
type Each func(ctx context.Context, draws []Draw, solver ode.Solver) (samples [][]float32, failures []error, err error)

// All draws n samples of each of the functions by each. It fails with the first failure.
func (each Each) All(ctx context.Context, functions []flow.Subject, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	draws := make([]Draw, len(functions))
	for i, f := range functions {
		draws[i] = Draw{f, n, seed, i}
	}
	samples, failures, err := each(ctx, draws, solver)
	if err == nil {
		err = cmp.Or(failures...)
	}
	if err != nil {
		return nil, err
	}
	return samples, nil
}

// Sample draws n samples [n, d] for each of the functions. The noise of function i
// depends on (seed, i) alone, and each function is integrated by itself. So its
// samples do not depend on the other functions.
func (s *Sampler) Sample(ctx context.Context, functions []flow.Subject, n int, solver ode.Solver, seed uint64) ([][]float32, error) {
	return Each(s.SampleEach).All(ctx, functions, n, solver, seed)
}

// SampleEach is an Each.
func (s *Sampler) SampleEach(ctx context.Context, draws []Draw, solver ode.Solver) (samples [][]float32, failures []error, err error) {
	d := s.model.Dim()
	functions, err := Functions(draws, d)
	if err != nil {
		return nil, nil, err
	}
	codes, err := Codes(ctx, s.conditioner, len(s.model.Inputs()), s.group, functions, s.encode)
	if err != nil {
		return nil, nil, err
	}
	samples, failures = make([][]float32, len(draws)), make([]error, len(draws))
	for i, draw := range draws {
		x := Noise(draw.Seed, draw.Place, draw.N*d)
		if err := s.integrate(ctx, x, codes[i*s.codeSize:(i+1)*s.codeSize], solver); err != nil {
			if ctx.Err() != nil {
				return nil, nil, err
			}
			failures[i] = fmt.Errorf("sample function %d: %w", draw.Place, err)
			continue
		}
		if _, failures[i] = flow.Restore(s.conditioner, s.frame, functions[i], x); failures[i] == nil {
			samples[i] = x
		}
	}
	return samples, failures, nil
}

// Functions are those of draws, which a network of that dimension can sample.
func Functions(draws []Draw, dim int) ([]flow.Subject, error) {
	functions := make([]flow.Subject, len(draws))
	for i, draw := range draws {
		functions[i] = draw.Function
		if err := check(draw, dim); err != nil {
			return nil, err
		}
	}
	return functions, nil
}

// check reports a number of samples, or a function, that a network of that dimension cannot
// sample.
func check(draw Draw, dim int) error {
	if draw.N < 1 || draw.N > MaxNumbers/dim {
		return fmt.Errorf("sample: %d samples, not in 1…%d", draw.N, MaxNumbers/dim)
	}
	system := draw.Function.Function.System
	if system == nil {
		return nil
	}
	if err := system.Validate(); err != nil {
		return fmt.Errorf("sample function %d: %w", draw.Place, err)
	}
	if have := system.Dim(); have != dim {
		return fmt.Errorf("sample function %d: its states have %d numbers, the network's %d", draw.Place, have, dim)
	}
	return nil
}

// Noise are the states at t = 0 of the function with that place in a request: n draws of
// N(0,1).
func Noise(seed uint64, function, n int) []float32 {
	x := make([]float32, n)
	source := random.New(seed, "sampler", uint64(function))
	for j := range x {
		x[j] = float32(source.NormFloat64())
	}
	return x
}

// GroupOf is how many functions a model encodes together, within bounded memory.
func GroupOf(model velocity.Model) int {
	group := maxFunctions
	for _, input := range model.Inputs() {
		group = max(1, min(group, maxInputValues/input.Size()))
	}
	return group
}

// Encode returns the codes of n functions, side by side, from a network's inputs.
type Encode func(ctx context.Context, inputs [][]float32, n int) ([]float32, error)

// Codes returns the codes of functions, side by side. The conditioner makes the inputs, of which
// there are that many, and encode takes those of at most group functions at once.
func Codes(ctx context.Context, conditioner flow.Conditioner, inputs, group int, functions []flow.Subject, encode Encode) ([]float32, error) {
	var codes []float32
	for first := 0; first < len(functions); first += group {
		part := functions[first:min(first+group, len(functions))]
		values := make([][]float32, inputs)
		err := conditioner.Condition(ctx, values, part)
		var more []float32
		if err == nil {
			more, err = encode(ctx, values, len(part))
		}
		if err != nil {
			return nil, fmt.Errorf("encode functions: %w", err)
		}
		codes = append(codes, more...)
	}
	return codes, nil
}

// encode is an Encode of at most s.group functions. Zeros fill up the inputs of the execution.
func (s *Sampler) encode(_ context.Context, values [][]float32, functions int) ([]float32, error) {
	inputs := []backend.Buffer{s.theta}
	defer func() { backend.Free(inputs[1:]...) }()
	for k, input := range s.model.Inputs() {
		if len(values[k]) != functions*input.Size() {
			return nil, fmt.Errorf("%d values of %s for %d functions, the network takes %v of each", len(values[k]), input.Name, functions, input.Shape)
		}
		padded := append(values[k], make([]float32, (s.group-functions)*input.Size())...)
		buffer, err := s.backend.Upload(padded, s.encoder.Input(k+1).Dimensions...)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, buffer)
	}
	outputs, err := s.encoder.Run(inputs...)
	if err != nil {
		return nil, err
	}
	defer backend.Free(outputs...)
	codes := make([]float32, s.group*s.codeSize)
	if err := backend.Download(codes, outputs[0]); err != nil {
		return nil, err
	}
	return codes[:functions*s.codeSize], nil
}

// integrate carries the states x [n, d] of one function from noise to samples.
func (s *Sampler) integrate(ctx context.Context, x, code []float32, solver ode.Solver) error {
	d := s.model.Dim()
	samples := min(maxSamples, ceilPowerOfTwo(len(x)/d), max(1, maxCoordinates/d))
	program, err := s.velocity(samples)
	if err != nil {
		return err
	}
	onDevice, err := s.backend.Upload(code, 1, len(code))
	if err != nil {
		return err
	}
	defer backend.Free(onDevice)
	width := samples * d
	padded := make([]float32, width)
	field := func(dst, x []float32, t float64) error {
		time, err := s.backend.Upload([]float32{float32(t)}, 1, 1)
		if err != nil {
			return err
		}
		defer backend.Free(time)
		for first := 0; first < len(x); first += width {
			last := min(first+width, len(x))
			if last-first == width {
				err = s.evaluate(program, dst[first:last], x[first:last], onDevice, time)
			} else {
				clear(padded[copy(padded, x[first:last]):])
				err = s.evaluate(program, padded, padded, onDevice, time)
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

// evaluate computes the velocity at the states of one execution.
func (s *Sampler) evaluate(program *backend.Program, dst, x []float32, code, time backend.Buffer) error {
	states, err := s.backend.Upload(x, 1, len(x)/s.model.Dim(), s.model.Dim())
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

// velocity returns the program for that many samples of one function at one time.
func (s *Sampler) velocity(samples int) (*backend.Program, error) {
	if program, ok := s.velocities[samples]; ok {
		return program, nil
	}
	layout := s.model.Layout()
	inputs := []shapes.Shape{
		backend.Shape(layout.Size()), backend.Shape(1, s.codeSize),
		backend.Shape(1, samples, s.model.Dim()), backend.Shape(1, 1),
	}
	program, err := s.backend.Compile(fmt.Sprintf("velocity of %d", samples), inputs, func(in []*graph.Node) []*graph.Node {
		network := s.model.Network(velocity.Split(layout, in[0]), layers.Float32)
		return []*graph.Node{network.Velocity(in[1], in[2], in[3])}
	})
	if err != nil {
		return nil, err
	}
	s.velocities[samples] = program
	return program, nil
}

// ceilPowerOfTwo is the least power of two that is at least n, for n ≥ 1.
func ceilPowerOfTwo(n int) int { return 1 << bits.Len(uint(n-1)) }
