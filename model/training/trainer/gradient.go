package trainer

import (
	"cmp"
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
// with sum' = sum + [∂L/∂θ, L, n·S] and L = Σ |v(x_t, t) − (x₁ − x₀)|². With J shared
// points it compiles
//
//	(θ [P], sum [P+2], x [J,d], t [J], velocities u [n,J,d], weights w [n,J], inputs [n,…]) → sum' [P+2]
//
// with n·J for n·S and L = Σ w |v(x, t) − u|². sum and sum' are given as arrays that begin
// at the bounds.
//
// The graph differentiates by the named tensors, not by θ: the gradient by a slice
// of θ is a vector of length P padded with zeros, one for each tensor.
func compileGradient(b *backend.Backend, config Config, v variant, bounds []int) (*backend.Program, error) {
	model, n := config.models()[v.network], v.functions
	layout := model.Layout()
	size := layout.Size()
	pairs, loss := config.pairs(model.Dim(), n), coupledLoss
	if config.Points > 0 {
		loss = sharedLoss
	}
	arrays := len(bounds) - 1
	inputs := []shapes.Shape{backend.Shape(size)}
	for k := range arrays {
		inputs = append(inputs, backend.Shape(bounds[k+1]-bounds[k]))
	}
	inputs = append(inputs, pairs...)
	for _, input := range model.Inputs() {
		inputs = append(inputs, backend.Shape(append([]int{n}, input.Shape...)...))
	}
	name := fmt.Sprintf("gradient of %d×%d", n, config.perFunction())
	return b.Compile(name, inputs, func(in []*graph.Node) []*graph.Node {
		theta, sum, in := in[0], in[1:1+arrays], in[1+arrays:]
		tensors := velocity.Split(layout, theta)
		network := model.Network(tensors, config.Precision)
		loss := loss(network, network.Encode(in[len(pairs):]), in[:len(pairs)])

		flat := make([]*graph.Node, 0, len(tensors)+2)
		for _, gradient := range graph.Gradient(loss, tensors...) {
			flat = append(flat, graph.Reshape(gradient, -1))
		}
		count := graph.Const(loss.Graph(), []float32{float32(n * config.perFunction())})
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

// pairs are the shapes of what a batch of n functions has beside their inputs.
func (c Config) pairs(dim, n int) []shapes.Shape {
	if j := c.Points; j > 0 {
		return []shapes.Shape{backend.Shape(j, dim), backend.Shape(j), backend.Shape(n, j, dim), backend.Shape(n, j)}
	}
	states := backend.Shape(n, c.Samples, dim)
	return []shapes.Shape{states, states, backend.Shape(n, c.Samples)}
}

// perFunction is how many squared errors a batch has of each function.
func (c Config) perFunction() int { return cmp.Or(c.Points, c.Samples) }

// coupledLoss is that of pairs x₀, x₁ at times t.
func coupledLoss(network velocity.Network, code *graph.Node, pairs []*graph.Node) *graph.Node {
	x0, x1, t := pairs[0], pairs[1], pairs[2]
	target := graph.Sub(x1, x0)
	x := graph.Add(x0, graph.Mul(graph.ExpandAxes(t, -1), target)) // (1−t)x₀ + t·x₁
	residual := graph.Sub(network.Velocity(code, x, t), target)
	return graph.ReduceAllSum(graph.Mul(residual, residual))
}

// sharedLoss is that of velocities and weights at shared points.
func sharedLoss(network velocity.Network, code *graph.Node, pairs []*graph.Node) *graph.Node {
	x, t, target, weight := pairs[0], pairs[1], pairs[2], pairs[3]
	residual := graph.Sub(network.(velocity.Shared).VelocityAt(code, x, t), target)
	return graph.ReduceAllSum(graph.Mul(graph.ExpandAxes(weight, -1), graph.Mul(residual, residual)))
}
