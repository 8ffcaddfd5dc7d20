// Package velocity defines the interface of a network v_θ[a](x, t) for training,
// sampling and evaluation: the velocity at state x and time t of the flow that carries
// noise to the invariant law of the function a. Packages deeponet and sensor implement
// it.
package velocity

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/parameters"
)

// Model is an architecture with its sizes. It has no parameters: these are a flat
// vector in the order of Layout.
type Model interface {
	// Validate reports the first size out of range.
	Validate() error
	// Dim is d, the numbers of a state.
	Dim() int
	// Inputs are the network's inputs for a function, standardised.
	Inputs() []Input
	// Layout names the parameters, in the order of the vector.
	Layout() parameters.Layout
	// Network makes the network with the parameters that Split returned, and products
	// of that precision.
	Network(parameters []*graph.Node, precision layers.Precision) Network
	// Summary lists the layers in the order of computation.
	Summary() []Layer
	// FLOPs of the gradient of a batch, see the function FLOPs.
	FLOPs(functions, states int) float64
}

// Input is one float32 tensor that describes a function.
type Input struct {
	Name  string `json:"name" yaml:"name"`
	Shape []int  `json:"shape" yaml:"shape"` // for one function
}

// Size is the number of elements for one function.
func (i Input) Size() int {
	size := 1
	for _, n := range i.Shape {
		size *= n
	}
	return size
}

// Network is a model with its parameters in a graph.
type Network interface {
	// Encode returns the code [n, C] of n functions, given the inputs [n, Shape…]. The
	// code is the part of the computation that depends on the function alone: it is done
	// once for each function, not for each sample.
	Encode(inputs []*graph.Node) *graph.Node
	// Velocity returns v [n, S, d] at states x [n, S, d] and times t [n, S]. If all
	// samples of a function have the same time, as in an ODE solver, t may be [n, 1]:
	// the part that depends on (function, time) alone is then computed once for each
	// function.
	Velocity(code, x, t *graph.Node) *graph.Node
}

// Shared is a network that computes a part of the velocity from (x, t) alone. At points that
// all functions share it computes that part once, not once for each function.
type Shared interface {
	Network
	// VelocityAt returns v [n, J, d] of n functions at states x [J, d] and times t [J].
	VelocityAt(code, x, t *graph.Node) *graph.Node
}

// Split cuts the flat vector theta [P] into the tensors of a layout.
func Split(layout parameters.Layout, theta *graph.Node) []*graph.Node {
	offsets := layout.Offsets()
	nodes := make([]*graph.Node, len(layout))
	for i, t := range layout {
		nodes[i] = graph.Reshape(graph.Slice(theta, graph.AxisRange(offsets[i], offsets[i+1])), t.Shape...)
	}
	return nodes
}

// How often a layer is computed.
const (
	PerFunction = "function"
	PerSample   = "sample"
)

// Layer describes one layer for people.
type Layer struct {
	Name       string `json:"name"`
	Kind       string `json:"kind"`
	Output     []int  `json:"output"` // for one function or one sample, as in Per
	Per        string `json:"per"`    // PerFunction or PerSample: how often it is computed
	Parameters int    `json:"parameters"`
	// MultiplyAdds of a forward pass, for one function or one sample, as in Per.
	MultiplyAdds int `json:"multiply_adds"`
}

// times is how often the layer is computed for that many functions, at that many states and
// times in all.
func (l Layer) times(functions, states int) int {
	if l.Per == PerSample {
		return states
	}
	return functions
}

// FLOPs counts the operations of the gradient of a batch with that many functions, at that
// many states of all of them, for the network as it is defined: two for every multiply–add
// of a forward pass, and twice as many backward as forward. It counts only dense layers,
// convolutions and other products of matrices.
func FLOPs(layers []Layer, functions, states int) float64 {
	total := 0.0
	for _, layer := range layers {
		total += 6 * float64(layer.MultiplyAdds) * float64(layer.times(functions, states))
	}
	return total
}
