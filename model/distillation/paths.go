package distillation

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// accurate is how many steps of RK4 the teacher takes over the whole path, at least one over
// each interval. Two are within chance of eight for the laws of all models that
// docs/results/solvers.md has.
const accurate = 2

// paths follows the teacher's flow for a batch of functions.
type paths struct {
	backend             *backend.Backend
	teacher             teacher
	functions, samples  int
	intervals           int
	theta               backend.Buffer
	encoder, velocities *backend.Program
}

func newPaths(b *backend.Backend, t teacher, c experiment.Distillation) (*paths, error) {
	p := &paths{backend: b, teacher: t, functions: c.BatchFunctions, samples: c.BatchSamples, intervals: c.Evaluations}
	layout := t.model.Layout()
	network := func(theta *graph.Node) velocity.Network {
		return t.model.Network(velocity.Split(layout, theta), layers.Float32)
	}
	inputs := []shapes.Shape{backend.Shape(layout.Size())}
	for _, input := range t.model.Inputs() {
		inputs = append(inputs, backend.Shape(append([]int{p.functions}, input.Shape...)...))
	}
	var err error
	codeSize := 0
	p.encoder, err = b.Compile("teacher's encoder", inputs, func(in []*graph.Node) []*graph.Node {
		code := network(in[0]).Encode(in[1:])
		codeSize = code.Shape().Dimensions[1]
		return []*graph.Node{code}
	})
	if err != nil {
		return nil, err
	}
	p.velocities, err = b.Compile("teacher's velocity", []shapes.Shape{
		inputs[0], backend.Shape(p.functions, codeSize), backend.Shape(p.functions, p.samples, t.model.Dim()), backend.Shape(p.functions, 1),
	}, func(in []*graph.Node) []*graph.Node {
		return []*graph.Node{network(in[0]).Velocity(in[1], in[2], in[3])}
	})
	if err == nil {
		p.theta, err = b.Upload(t.parameters, layout.Size())
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

func (p *paths) close() {
	for _, program := range []*backend.Program{p.encoder, p.velocities} {
		if program != nil {
			program.Close()
		}
	}
	backend.Free(p.theta)
}

// follow carries the noise [functions, samples, d] along the teacher's flow. It returns the
// states at the ends of the intervals, from t = 0 to 1.
func (p *paths) follow(ctx context.Context, inputs [][]float32, noise []float32) ([][]float32, error) {
	code, err := p.encode(inputs)
	if err != nil {
		return nil, err
	}
	defer backend.Free(code)
	field := func(dst, x []float32, t float64) error { return p.velocity(dst, x, t, code) }
	solver := ode.RK4{Steps: max(1, accurate/p.intervals)}
	at := [][]float32{noise}
	for i := range p.intervals {
		x := slices.Clone(at[i])
		if _, err := solver.Integrate(ctx, field, x, float64(i)/float64(p.intervals), float64(i+1)/float64(p.intervals)); err != nil {
			return nil, err
		}
		at = append(at, x)
	}
	return at, nil
}

func (p *paths) encode(values [][]float32) (backend.Buffer, error) {
	inputs := []backend.Buffer{p.theta}
	defer func() { backend.Free(inputs[1:]...) }()
	for k, v := range values {
		buffer, err := p.backend.Upload(v, p.encoder.Input(k+1).Dimensions...)
		if err != nil {
			return nil, fmt.Errorf("input %d: %w", k, err)
		}
		inputs = append(inputs, buffer)
	}
	outputs, err := p.encoder.Run(inputs...)
	if err != nil {
		return nil, err
	}
	return outputs[0], nil
}

// velocity writes v(x, t) of all functions to dst.
func (p *paths) velocity(dst, x []float32, t float64, code backend.Buffer) error {
	states, err := p.backend.Upload(x, p.functions, p.samples, p.teacher.model.Dim())
	if err != nil {
		return err
	}
	defer backend.Free(states)
	times := make([]float32, p.functions)
	for j := range times {
		times[j] = float32(t)
	}
	time, err := p.backend.Upload(times, p.functions, 1)
	if err != nil {
		return err
	}
	defer backend.Free(time)
	outputs, err := p.velocities.Run(p.theta, code, states, time)
	if err != nil {
		return err
	}
	defer backend.Free(outputs...)
	return backend.Download(dst, outputs[0])
}
