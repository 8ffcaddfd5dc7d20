package sensor

import (
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/gomlx/core/graph"
)

var _ velocity.Model = Config{}

// Dim is d, the numbers of a state.
func (c Config) Dim() int { return c.Dimension }

// Inputs are the probes [sensors, steps, features], standardised.
func (c Config) Inputs() []velocity.Input {
	return []velocity.Input{{Name: "probes", Shape: []int{c.Sensors, c.Steps, c.Features}}}
}

// Network makes the network of the parameters that velocity.Split returned.
func (c Config) Network(nodes []*graph.Node, precision layers.Precision) velocity.Network {
	n := Network{config: c, parameters: make(map[string]*graph.Node, len(nodes)), precision: precision}
	for i, t := range c.Layout() {
		n.parameters[t.Name] = nodes[i]
	}
	return n
}

// Network holds the parameters as graph nodes.
type Network struct {
	config     Config
	parameters map[string]*graph.Node
	precision  layers.Precision
}

func (n Network) weight(name string) *graph.Node { return n.parameters[name+".weight"] }
func (n Network) bias(name string) *graph.Node   { return n.parameters[name+".bias"] }

// dense maps the last axis of x by the layer's weight and bias.
func (n Network) dense(name string, x *graph.Node) *graph.Node {
	return plus(n.times(x, n.weight(name)), n.bias(name))
}

// perceptron is dense, GELU, dense.
func (n Network) perceptron(name string, x *graph.Node) *graph.Node {
	return n.dense(name+".output", layers.GELU(n.dense(name+".hidden", x)))
}

// norm is LayerNorm with gain and bias over the last axis.
func (n Network) norm(name string, x *graph.Node) *graph.Node {
	return plus(scaled(layers.Normalise(x), n.weight(name)), n.bias(name))
}

// times is x·w over the last axis of x [..., in], for w [in, out].
func (n Network) times(x, w *graph.Node) *graph.Node {
	dimensions := append([]int{}, x.Shape().Dimensions...)
	last := len(dimensions) - 1
	in := dimensions[last]
	dimensions[last] = w.Shape().Dimensions[1]
	return graph.Reshape(n.precision.Product(graph.Reshape(x, -1, in), w), dimensions...)
}

// plus adds the row b [k] to x [..., k]. The gradient of b is a sum, not a product, so
// it is float32 for every precision.
func plus(x, b *graph.Node) *graph.Node {
	return graph.Reshape(layers.Plus(graph.Reshape(x, -1, b.Shape().Size()), b), x.Shape().Dimensions...)
}

// scaled multiplies x [..., k] by the row b [k].
func scaled(x, b *graph.Node) *graph.Node {
	k := b.Shape().Size()
	return graph.Reshape(graph.Mul(graph.Reshape(x, -1, k), graph.Reshape(b, 1, k)), x.Shape().Dimensions...)
}

// rows returns rows [low, high) of a matrix.
func rows(w *graph.Node, low, high int) *graph.Node {
	return graph.Slice(w, graph.AxisRange(low, high))
}
