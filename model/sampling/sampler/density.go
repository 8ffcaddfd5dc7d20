package sampler

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const (
	// mostTangents is the largest dimension in which the derivative of the flow map is computed
	// whole, by d tangents for every sample.
	mostTangents = 3
	// probes are the random vectors that estimate a trace, for every sample.
	probes = 2
)

// ErrNoDensity means that the density of draws is not known: on a circle and at reflecting ends
// several points of the flow have one state.
var ErrNoDensity = errors.New("the density of draws is not known on a domain with ends")

// Densities are draws of a model with its density at them.
type Densities struct {
	X []float32 // draws [n, d]
	// Log is log q of every draw [n].
	Log []float64
	// Folded says that the solver's map Φ turns space over at a draw, det Φ′ < 0: there it covers
	// a region more than once. Nil where only the trace is known.
	Folded []bool
	// Noise is the standard error of Log, of the random vectors that estimate traces; 0 where
	// derivatives are exact.
	Noise float64
}

// Density is Sample of one draw, with log q of each sample.
//
// In up to three dimensions q is the density of what the solver draws, whatever its steps: with
// the solver's map x = Φ(z) of noise z of density p,
//
//	log q(x) = log p(z) − log |det Φ′(z)|.
//
// Φ′ is exact: a Runge–Kutta method that is applied to dx/dt = v and dT/dt = v′T together, from
// T = I, gives T = Φ′. For dopri5 that leaves out how its steps depend on the states, an error
// below its tolerance.
//
// In more dimensions log q = log p − ∫ tr v′ dt along the solver's path. The trace is the mean of
// εᵀv′ε over two random vectors ε of ±1, the same at all times (Hutchinson; Grathwohl and others,
// arXiv 1810.01367). That is the density of the exact flow, and of the solver's map up to its
// error.
//
// On a domain with ends it fails with ErrNoDensity.
func (s *Sampler) Density(ctx context.Context, draw Draw, solver ode.Solver) (q Densities, err error) {
	d := s.model.Dim()
	functions, err := Functions([]Draw{draw}, d)
	if err != nil {
		return q, err
	}
	codes, err := Codes(ctx, s.conditioner, len(s.model.Inputs()), s.group, functions, s.encode)
	if err != nil {
		return q, err
	}
	code, err := s.backend.Upload(codes, 1, len(codes))
	if err != nil {
		return q, err
	}
	defer backend.Free(code)
	x := Noise(draw.Seed, draw.Place, draw.N*d)
	q.Log = make([]float64, draw.N)
	for i := range q.Log {
		for _, v := range x[i*d : (i+1)*d] {
			q.Log[i] -= float64(v)*float64(v)/2 + math.Log(2*math.Pi)/2
		}
	}
	if d <= mostTangents {
		err = s.tangents(ctx, &q, x, code, solver)
	} else {
		err = s.traces(ctx, &q, x, code, solver, random.New(draw.Seed, "sampler/probes", uint64(draw.Place)).Uint64)
	}
	if err != nil {
		return q, fmt.Errorf("sample function %d: %w", draw.Place, err)
	}
	q.X = x
	volume, err := flow.Restore(s.conditioner, s.frame, draw.Function, q.X)
	if err != nil {
		return q, err
	}
	if math.IsNaN(volume) {
		return Densities{}, ErrNoDensity
	}
	for i := range q.Log {
		q.Log[i] -= volume
	}
	return q, nil
}

// tangents carries the states x [n, d] and the derivative of the map that carries them.
func (s *Sampler) tangents(ctx context.Context, q *Densities, x []float32, code backend.Buffer, solver ode.Solver) error {
	d := s.model.Dim()
	n := len(x) / d
	program, samples, err := s.derivative("Jacobian", n, nil, func(v *graph.Node, in []*graph.Node) []*graph.Node {
		var rows []*graph.Node
		for k := range d { // samples do not depend on one another
			of := graph.Slice(v, graph.AxisRange(), graph.AxisRange(), graph.AxisElem(k))
			rows = append(rows, graph.Gradient(graph.ReduceAllSum(of), in[2])...)
		}
		return rows
	})
	if err != nil {
		return err
	}
	// The state is x, and after it T [n, d, d].
	state := append(slices.Clone(x), make([]float32, n*d*d)...)
	for i := range n {
		for k := range d {
			state[n*d+i*d*d+k*d+k] = 1
		}
	}
	width := d + d*d
	out := make([]float32, n*width)
	field := func(dst, state []float32, t float64) error {
		if err := s.derivatives(out, program, samples, state[:n*d], nil, code, t); err != nil {
			return err
		}
		for i := range n {
			v := out[i*width:][:width]
			copy(dst[i*d:], v[:d])
			tangent, to := state[n*d+i*d*d:][:d*d], dst[n*d+i*d*d:][:d*d]
			for r := range d {
				for c := range d {
					var sum float64
					for k := range d {
						sum += float64(v[d+r*d+k]) * float64(tangent[k*d+c])
					}
					to[r*d+c] = float32(sum)
				}
			}
		}
		return nil
	}
	if _, err := solver.Integrate(ctx, field, state, 0, 1); err != nil {
		return err
	}
	copy(x, state)
	q.Folded = make([]bool, n)
	for i := range n {
		det := determinant(state[n*d+i*d*d:][:d*d], d)
		q.Folded[i] = det < 0
		q.Log[i] -= math.Log(math.Abs(det))
	}
	return nil
}

// determinant of a matrix [d, d], d ≤ 3.
func determinant(m []float32, d int) float64 {
	at := func(r, c int) float64 { return float64(m[r*d+c]) }
	switch d {
	case 1:
		return at(0, 0)
	case 2:
		return at(0, 0)*at(1, 1) - at(0, 1)*at(1, 0)
	}
	return at(0, 0)*(at(1, 1)*at(2, 2)-at(1, 2)*at(2, 1)) - at(0, 1)*(at(1, 0)*at(2, 2)-at(1, 2)*at(2, 0)) + at(0, 2)*(at(1, 0)*at(2, 1)-at(1, 1)*at(2, 0))
}

// traces carries the states x [n, d] and, for each probe, the integral of its estimate of tr v′.
func (s *Sampler) traces(ctx context.Context, q *Densities, x []float32, code backend.Buffer, solver ode.Solver, bits func() uint64) error {
	d := s.model.Dim()
	n := len(x) / d
	program, samples, err := s.derivative("trace", n, []int{probes, d}, func(v *graph.Node, in []*graph.Node) []*graph.Node {
		var estimates []*graph.Node
		for k := range probes {
			e := graph.Squeeze(graph.Slice(in[4], graph.AxisRange(), graph.AxisRange(), graph.AxisElem(k)), 2)
			slope := graph.Gradient(graph.ReduceAllSum(graph.Mul(v, e)), in[2])[0]
			estimates = append(estimates, graph.ReduceAndKeep(graph.Mul(slope, e), graph.ReduceSum, -1))
		}
		return estimates
	})
	if err != nil {
		return err
	}
	signs := make([]float32, n*probes*d)
	var word uint64
	for i := range signs {
		if i%64 == 0 {
			word = bits()
		}
		signs[i] = float32(1 - 2*int(word>>(i%64)&1))
	}
	state := append(slices.Clone(x), make([]float32, n*probes)...)
	width := d + probes
	out := make([]float32, n*width)
	field := func(dst, state []float32, t float64) error {
		if err := s.derivatives(out, program, samples, state[:n*d], signs, code, t); err != nil {
			return err
		}
		for i := range n {
			copy(dst[i*d:(i+1)*d], out[i*width:])
			copy(dst[n*d+i*probes:], out[i*width+d:(i+1)*width])
		}
		return nil
	}
	if _, err := solver.Integrate(ctx, field, state, 0, 1); err != nil {
		return err
	}
	copy(x, state)
	var squares float64
	for i := range n {
		a, b := float64(state[n*d+i*probes]), float64(state[n*d+i*probes+1])
		q.Log[i] -= (a + b) / 2
		squares += (a - b) * (a - b) / 4 / float64(n)
	}
	q.Noise = math.Sqrt(squares)
	return nil
}

// derivative returns the program that puts the velocity [1, samples, d], and after it what follow
// makes of it, in the rows of one result; inputs are those of velocity, and one more of that shape
// for each sample, if there is one. The program is for that many samples at once.
func (s *Sampler) derivative(name string, n int, more []int, follow func(v *graph.Node, in []*graph.Node) []*graph.Node) (*backend.Program, int, error) {
	d := s.model.Dim()
	samples := min(maxSamples, ceilPowerOfTwo(n), max(1, maxCoordinates/d/2))
	if program, ok := s.derived[samples]; ok {
		return program, samples, nil
	}
	layout := s.model.Layout()
	inputs := []shapes.Shape{backend.Shape(layout.Size()), backend.Shape(1, s.codeSize), backend.Shape(1, samples, d), backend.Shape(1, 1)}
	if more != nil {
		inputs = append(inputs, backend.Shape(append([]int{1, samples}, more...)...))
	}
	program, err := s.backend.Compile(fmt.Sprintf("%s of %d", name, samples), inputs, func(in []*graph.Node) []*graph.Node {
		v := s.model.Network(velocity.Split(layout, in[0]), layers.Float32).Velocity(in[1], in[2], in[3])
		return []*graph.Node{graph.Concatenate(append([]*graph.Node{v}, follow(v, in)...), -1)}
	})
	if err != nil {
		return nil, 0, err
	}
	s.derived[samples] = program
	return program, samples, nil
}

// derivatives runs such a program at the states x [n, d]; more [n, …] is the further input.
func (s *Sampler) derivatives(out []float32, program *backend.Program, samples int, x, more []float32, code backend.Buffer, t float64) error {
	d := s.model.Dim()
	n := len(x) / d
	width, extra := len(out)/n, len(more)/n
	time, err := s.backend.Upload([]float32{float32(t)}, 1, 1)
	if err != nil {
		return err
	}
	defer backend.Free(time)
	run := func(first, count int) error {
		inputs := []backend.Buffer{s.theta, code, nil, time}
		defer func() { backend.Free(inputs[2]); backend.Free(inputs[4:]...) }()
		if inputs[2], err = s.backend.Upload(padded(x[first*d:(first+count)*d], samples*d), 1, samples, d); err != nil {
			return err
		}
		if more != nil {
			buffer, err := s.backend.Upload(padded(more[first*extra:(first+count)*extra], samples*extra), program.Input(4).Dimensions...)
			if err != nil {
				return err
			}
			inputs = append(inputs, buffer)
		}
		outputs, err := program.Run(inputs...)
		if err != nil {
			return err
		}
		defer backend.Free(outputs...)
		rows := out[first*width : (first+count)*width]
		if count == samples {
			return backend.Download(rows, outputs[0])
		}
		all := make([]float32, samples*width)
		if err := backend.Download(all, outputs[0]); err != nil {
			return err
		}
		copy(rows, all)
		return nil
	}
	for first := 0; first < n; first += samples {
		if err := run(first, min(samples, n-first)); err != nil {
			return err
		}
	}
	return nil
}

// padded is v with zeros up to that length.
func padded(v []float32, length int) []float32 {
	if len(v) == length {
		return v
	}
	return append(slices.Clone(v), make([]float32, length-len(v))...)
}
