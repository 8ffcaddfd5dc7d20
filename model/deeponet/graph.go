package deeponet

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/gomlx/gomlx/core/graph"
)

// Network holds the parameters as graph nodes, in the order of the layout.
type Network struct {
	config     Config
	parameters map[string]*graph.Node
}

// Split cuts the flat vector theta [P] into the tensors of the layout.
func (c Config) Split(theta *graph.Node) []*graph.Node {
	layout := c.Layout()
	offsets := layout.Offsets()
	nodes := make([]*graph.Node, len(layout))
	for i, t := range layout {
		nodes[i] = graph.Reshape(graph.Slice(theta, graph.AxisRange(offsets[i], offsets[i+1])), t.Shape...)
	}
	return nodes
}

// Network makes the network of the parameters that Split returned.
func (c Config) Network(nodes []*graph.Node) Network {
	n := Network{config: c, parameters: make(map[string]*graph.Node, len(nodes))}
	for i, t := range c.Layout() {
		n.parameters[t.Name] = nodes[i]
	}
	return n
}

// Encode returns what the velocity takes of each function, [n, width+1]. With
// the code c = f⁰(b̂)·f¹(σ̂) [q] and the last layer of the trunk u = hW + w,
//
//	v = Σ_l c_l u_l = h·(Wc) + w·c
//
// so the row [Wc, w·c] replaces the largest part of that layer, once for each
// function instead of once for each sample: 13 % fewer operations, and the same
// number up to rounding.
func (n Network) Encode(drift, diffusion *graph.Node) *graph.Node {
	code := graph.Mul(n.branch(branches[0], drift), n.branch(branches[1], diffusion))
	weight, bias := n.parameters["trunk.output.weight"], n.parameters["trunk.output.bias"]
	return graph.Concatenate([]*graph.Node{
		graph.Einsum("nq,kq->nk", code, weight),
		graph.ReduceAndKeep(graph.Mul(code, graph.ExpandAxes(bias, 0)), graph.ReduceSum, -1),
	}, -1)
}

// Velocity returns v [n, S] at states x [n, S] and times t [n, S] of the
// functions whose rows [n, width+1] Encode returned.
func (n Network) Velocity(rows, x, t *graph.Node) *graph.Node {
	functions, samples, width := x.Shape().Dimensions[0], x.Shape().Dimensions[1], n.config.TrunkWidth
	h := n.trunk(graph.Reshape(x, -1, 1), graph.Reshape(t, -1, 1))
	h = graph.Reshape(h, functions, samples, width)
	slope := graph.Slice(rows, graph.AxisRange(), graph.AxisRange(0, width))
	offset := graph.Slice(rows, graph.AxisRange(), graph.AxisRange(width, width+1))
	return graph.Add(graph.Einsum("nsk,nk->ns", h, slope), offset)
}

func (n Network) dense(name string, x *graph.Node) *graph.Node {
	product := graph.Dot(x, n.parameters[name+".weight"]).MatMul()
	return graph.Add(product, graph.ExpandAxes(n.parameters[name+".bias"], 0))
}

func (n Network) branch(name string, values *graph.Node) *graph.Node {
	h := graph.ExpandAxes(values, -1) // [n, L, channels]
	for i := range n.config.Channels {
		h = gelu(n.convolution(fmt.Sprintf("%s.conv%d", name, i), h))
	}
	functions := h.Shape().Dimensions[0]
	h = gelu(n.dense(name+".hidden", graph.Reshape(h, functions, -1)))
	return n.dense(name+".output", h)
}

// convolution is a cross-correlation of h [n, L, in] with stride 2 and as much
// zero padding on both sides as half the kernel: [n, ⌈L/2⌉, out].
//
// It is one product of the shifted copies of h, side by side, with the weights
// [kernel·in, out]: faster than the convolution operation on XLA's CPU and by
// far on pure Go.
func (n Network) convolution(name string, h *graph.Node) *graph.Node {
	g, dimensions := h.Graph(), h.Shape().Dimensions
	functions, length, in := dimensions[0], dimensions[1], dimensions[2]
	kernel, half := n.config.Kernel, n.config.Kernel/2
	positions := (length + stride - 1) / stride

	// Position p reads stride·p + j − half for j < kernel: padding that much at
	// the right keeps the last read inside.
	right := max(stride*(positions-1)+kernel-half-length, 0)
	parts := []*graph.Node{h}
	if half > 0 {
		parts = []*graph.Node{graph.Zeros(g, backend.Shape(functions, half, in)), h}
	}
	if right > 0 {
		parts = append(parts, graph.Zeros(g, backend.Shape(functions, right, in)))
	}
	padded := graph.Concatenate(parts, 1)
	shifted := make([]*graph.Node, kernel)
	for j := range shifted {
		last := j + stride*(positions-1) + 1
		shifted[j] = graph.Slice(padded, graph.AxisRange(), graph.AxisRange(j, last).Stride(stride), graph.AxisRange())
	}
	weight := n.parameters[name+".weight"]
	out := weight.Shape().Dimensions[2]
	columns := graph.Reshape(graph.Concatenate(shifted, 2), functions*positions, kernel*in)
	product := graph.Dot(columns, graph.Reshape(weight, kernel*in, out)).MatMul()
	product = graph.Add(product, graph.ExpandAxes(n.parameters[name+".bias"], 0))
	return graph.Reshape(product, functions, positions, out)
}

// trunk returns the last hidden layer h [N, width] at states and times [N, 1].
func (n Network) trunk(x, t *graph.Node) *graph.Node {
	c := n.config
	h := graph.Concatenate([]*graph.Node{
		x, c.embed(x, c.StateEmbedding), c.embed(t, c.TimeEmbedding),
	}, -1)
	for i := range c.TrunkDepth {
		h = gelu(n.dense(fmt.Sprintf("trunk.hidden%d", i), h))
	}
	return h
}

// Frequencies are the f_j of an embedding of that width: width/2 of them, from
// FMin to FMax in equal ratios, in cycles per unit.
func (c Config) Frequencies(width int) []float64 {
	f := make([]float64, width/2)
	for j := range f {
		f[j] = c.FMin
		if len(f) > 1 {
			f[j] = c.FMin * math.Pow(c.FMax/c.FMin, float64(j)/float64(len(f)-1))
		}
	}
	return f
}

// embed returns [sin 2πf₀z, cos 2πf₀z, sin 2πf₁z, …] [N, width] of z [N, 1].
func (c Config) embed(z *graph.Node, width int) *graph.Node {
	angular := make([]float32, width/2)
	for j, f := range c.Frequencies(width) {
		angular[j] = float32(2 * math.Pi * f)
	}
	phase := graph.Mul(z, graph.ExpandAxes(graph.Const(z.Graph(), angular), 0)) // [N, width/2]
	return graph.Reshape(graph.Stack([]*graph.Node{graph.Sin(phase), graph.Cos(phase)}, -1), -1, width)
}

// gelu is x·Φ(x) with the error function, as torch.nn.GELU is by default.
func gelu(x *graph.Node) *graph.Node {
	return graph.Mul(graph.MulScalar(x, 0.5), graph.OnePlus(graph.Erf(graph.MulScalar(x, 1/math.Sqrt2))))
}
