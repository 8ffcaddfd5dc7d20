package trainer

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// gradient returns the program for micro-batches of that shape.
func (t *Trainer) gradient(of shape) (*backend.Program, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if program, ok := t.gradients[of]; ok {
		return program, nil
	}
	if of.functions < 1 {
		return nil, fmt.Errorf("micro-batch of %d functions", of.functions)
	}
	program, err := compileGradient(t.backend, t.config, of, t.bounds)
	if err != nil {
		return nil, err
	}
	t.gradients[of] = program
	return program, nil
}

// compileGradient compiles, for micro-batches of that shape,
//
//	(θ [P], sum [P+2], x₀ [n,S,d], x₁ [n,S,d], t [n,S], inputs [n,…]) → sum' [P+2]
//
// with sum' = sum + [∂L/∂θ, L, n·S] and L = Σ |v(x_t, t) − (x₁ − x₀)|². Both sums are
// in arrays, which begin at those bounds.
//
// It differentiates by the named tensors, not by θ: the gradient of a slice is
// the whole vector padded with zeros, once for each tensor.
func compileGradient(b *backend.Backend, config Config, of shape, bounds []int) (*backend.Program, error) {
	model, n, samples := config.models()[of.network], of.functions, config.Samples
	layout := model.Layout()
	size, states := layout.Size(), backend.Shape(n, samples, model.Dim())
	arrays := len(bounds) - 1
	inputs := []shapes.Shape{backend.Shape(size)}
	for k := range arrays {
		inputs = append(inputs, backend.Shape(bounds[k+1]-bounds[k]))
	}
	inputs = append(inputs, states, states, backend.Shape(n, samples))
	for _, input := range model.Inputs() {
		inputs = append(inputs, backend.Shape(append([]int{n}, input.Shape...)...))
	}
	name := fmt.Sprintf("gradient of %d×%d", n, samples)
	return b.Compile(name, inputs, func(in []*graph.Node) []*graph.Node {
		theta, sum, in := in[0], in[1:1+arrays], in[1+arrays:]
		x0, x1, t := in[0], in[1], in[2]
		parts := velocity.Split(layout, theta)
		network := model.Network(parts, config.Precision)
		wanted := graph.Sub(x1, x0)
		x := graph.Add(x0, graph.Mul(graph.ExpandAxes(t, -1), wanted)) // (1−t)x₀ + t·x₁
		residual := graph.Sub(network.Velocity(network.Encode(in[3:]), x, t), wanted)
		loss := graph.ReduceAllSum(graph.Mul(residual, residual))

		flat := make([]*graph.Node, 0, len(parts)+2)
		for _, gradient := range graph.Gradient(loss, parts...) {
			flat = append(flat, graph.Reshape(gradient, -1))
		}
		count := graph.Const(loss.Graph(), []float32{float32(n * samples)})
		flat = append(flat, graph.Reshape(loss, 1), count)
		all := graph.Concatenate(flat, 0)
		if arrays == 1 {
			return []*graph.Node{graph.Add(sum[0], all)}
		}
		out := make([]*graph.Node, arrays)
		for k := range out {
			out[k] = graph.Add(sum[k], graph.Slice(all, graph.AxisRange(bounds[k], bounds[k+1])))
		}
		return out
	})
}
