package trainer

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// variant of the gradient program: which network it is for, as an index into
// Config.models, and how many functions its micro-batches have.
type variant struct{ network, functions int }

// gradient returns the program of a variant and compiles it at its first use.
func (t *Trainer) gradient(v variant) (*backend.Program, error) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if program, ok := t.gradients[v]; ok {
		return program, nil
	}
	if v.functions < 1 {
		return nil, fmt.Errorf("micro-batch of %d functions", v.functions)
	}
	program, err := compileGradient(t.backend, t.config, v, t.bounds)
	if err != nil {
		return nil, err
	}
	t.gradients[v] = program
	return program, nil
}

// compileGradient compiles, for n = v.functions,
//
//	(θ [P], sum [P+2], x₀ [n,S,d], x₁ [n,S,d], t [n,S], inputs [n,…]) → sum' [P+2]
//
// with sum' = sum + [∂L/∂θ, L, n·S] and L = Σ |v(x_t, t) − (x₁ − x₀)|². sum and sum'
// are given as arrays that begin at the bounds.
//
// The graph differentiates by the named tensors, not by θ: the gradient by a slice
// of θ is a vector of length P padded with zeros, one for each tensor.
func compileGradient(b *backend.Backend, config Config, v variant, bounds []int) (*backend.Program, error) {
	model, n, samples := config.models()[v.network], v.functions, config.Samples
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
		tensors := velocity.Split(layout, theta)
		network := model.Network(tensors, config.Precision)
		target := graph.Sub(x1, x0)
		x := graph.Add(x0, graph.Mul(graph.ExpandAxes(t, -1), target)) // (1−t)x₀ + t·x₁
		residual := graph.Sub(network.Velocity(network.Encode(in[3:]), x, t), target)
		loss := graph.ReduceAllSum(graph.Mul(residual, residual))

		flat := make([]*graph.Node, 0, len(tensors)+2)
		for _, gradient := range graph.Gradient(loss, tensors...) {
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
