package sensor

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/gomlx/gomlx/core/graph"
)

// Encode returns the code z [n, Width] of the probes [n, m, steps, features],
// for any m ≥ 1 and any number of steps.
func (n Network) Encode(inputs []*graph.Node) *graph.Node {
	return n.aggregate(n.embed(inputs[0]))
}

// embed returns e [n, m, width], a vector for each sensor.
func (n Network) embed(probes *graph.Node) *graph.Node {
	steps := probes.Shape().Dimensions[2]
	step := func(i int) *graph.Node {
		return graph.Squeeze(graph.Slice(probes, graph.AxisRange(), graph.AxisRange(), graph.AxisRange(i, i+1)), 2)
	}
	switch n.config.Representation {
	case Point:
		return n.perceptron("sensor", step(0))
	case Endpoint:
		first, last := step(0), step(steps-1)
		return n.perceptron("sensor", graph.Concatenate([]*graph.Node{first, last, graph.Sub(last, first)}, -1))
	case Force:
		return n.force(probes)
	}
	return n.trajectory(probes)
}

// trajectory is convolution, LayerNorm over the channels, GELU for every
// channel, and the mean over the steps.
//
// From the result of a convolution it subtracts the mean over the channels, which does not change
// the LayerNorm after it. To do so without a pass over the result it subtracts the mean from
// weights and bias.
func (n Network) trajectory(probes *graph.Node) *graph.Node {
	dimensions := probes.Shape().Dimensions
	functions, sensors := dimensions[0], dimensions[1]
	h := graph.Reshape(probes, functions*sensors, dimensions[2], dimensions[3])
	centred := func(x *graph.Node) *graph.Node { return graph.Sub(x, graph.ReduceAndKeep(x, graph.ReduceMean, -1)) }
	var all []layers.NormLayer
	for i := range n.config.Channels {
		convolution, norm := fmt.Sprintf("sensor.conv%d", i), fmt.Sprintf("sensor.norm%d", i)
		weight := n.weight(convolution)
		weight = centred(graph.Reshape(weight, -1, weight.Shape().Dimensions[2]))
		all = append(all, layers.NormLayer{Weight: weight, Bias: centred(n.bias(convolution)), Gain: n.weight(norm), Shift: n.bias(norm)})
	}
	defined := func(all []layers.NormLayer) *graph.Node {
		h := h
		for _, l := range all {
			h = layers.NormGELU(plus(n.times(n.columns(h), l.Weight), l.Bias), l.Gain, l.Shift)
		}
		return graph.ReduceMean(h, 1)
	}
	mean, ok := n.precision.NormLayers(h, n.columns, n.config.Kernel, all, defined)
	if !ok {
		mean = defined(all)
	}
	return graph.Reshape(mean, functions, sensors, -1)
}

// columns has the rows of h [N, L, in] that a convolution along the second axis sums over, side by
// side, [N, L, kernel·in]: zeros beyond the ends. So a convolution is one product with the weights
// [kernel·in, out]. This is much faster than the convolution operation on pure Go.
func (n Network) columns(h *graph.Node) *graph.Node {
	dimensions := h.Shape().Dimensions
	trajectories, steps, in := dimensions[0], dimensions[1], dimensions[2]
	kernel, half := n.config.Kernel, n.config.Kernel/2
	if half == 0 {
		return h
	}
	zeros := graph.Zeros(h.Graph(), backend.Shape(trajectories, half, in))
	padded := graph.Concatenate([]*graph.Node{zeros, h, zeros}, 1)
	shifted := make([]*graph.Node, kernel)
	for j := range shifted {
		shifted[j] = graph.Slice(padded, graph.AxisRange(), graph.AxisRange(j, j+steps))
	}
	// Stacked along a new axis, XLA-CPU computes the copies in their final place.
	return graph.Reshape(graph.Stack(shifted, 2), trajectories, steps, kernel*in)
}

// aggregate returns z [n, Width] of e [n, m, width]. It does not depend on the
// order of the sensors.
func (n Network) aggregate(e *graph.Node) *graph.Node {
	switch n.config.Aggregator {
	case MeanPool:
		return n.perceptron("pool", graph.ReduceMean(e, 1))
	case DeepSets:
		return n.perceptron("pool", graph.ReduceSum(n.perceptron("element", e), 1))
	case Ratio:
		return n.perceptron("pool", ratio(graph.ReduceMean(e, 1)))
	}
	return n.perceive(e)
}
