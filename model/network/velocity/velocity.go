// Package velocity says what training, sampling and evaluation need of a
// network v_θ[a](x, t): the velocity at state x and time t of the flow that
// carries noise to the invariant law of the function a. The networks themselves
// are in packages of their own.
package velocity

import (
	"github.com/gomlx/gomlx/core/graph"

	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/parameters"
)

// Model describes an architecture with its sizes. It is a value without
// parameters: those come as one flat vector in the order of Layout.
type Model interface {
	// Validate reports the first size out of range.
	Validate() error
	// Dim is d, the numbers of a state.
	Dim() int
	// Inputs are what the network is told of a function, standardised.
	Inputs() []Input
	// Layout names the parameters, in the order of the vector.
	Layout() parameters.Layout
	// Network makes the network of the parameters, as Split returns them, with
	// products of that precision.
	Network(parameters []*graph.Node, precision layers.Precision) Network
	// Summary lists the layers in the order of computation.
	Summary() []Layer
	// FLOPs are those of the layers, see FLOPs.
	FLOPs(functions, samples int) float64
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
	// Encode returns the code [n, C] of n functions, of which every input is
	// [n, Shape…]. It is what depends on the function alone: once for each, not
	// once for each sample.
	Encode(inputs []*graph.Node) *graph.Node
	// Velocity returns v [n, S, d] at states x [n, S, d] and times t: [n, S], or
	// [n, 1] where all samples of a function share one, as in an ODE solver;
	// what depends on (function, time) alone is then computed once for each
	// function.
	Velocity(code, x, t *graph.Node) *graph.Node
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
	Output     []int  `json:"output"` // for what Per says
	Per        string `json:"per"`    // PerFunction or PerSample: how often it is computed
	Parameters int    `json:"parameters"`
	// MultiplyAdds of a forward pass, for one function or one sample.
	MultiplyAdds int `json:"multiply_adds"`
}

// FLOPs of the gradient of a batch of so many functions with so many samples
// each, of a network as it is defined: two for every multiply–add of a forward
// pass, and twice as many backward as forward. Dense layers, convolutions and
// other products of matrices are counted, nothing else.
func FLOPs(layers []Layer, functions, samples int) float64 {
	total := 0.0
	for _, layer := range layers {
		times := functions
		if layer.Per == PerSample {
			times *= samples
		}
		total += 6 * float64(layer.MultiplyAdds) * float64(times)
	}
	return total
}
