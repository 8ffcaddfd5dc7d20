// Package deeponet is the multi-input DeepONet for equations with coefficients on a
// grid, on the line or in the plane. With rank q and the standardised fields f̂ of a
// function,
//
//	v(x, t) = Σ_{l=1}^{q} f⁰_l(f̂₀) ⊙ f¹_l(f̂₁) ⊙ … ⊙ u_l(x, t)
//
// where every factor has d numbers, as a state has. Each field has a convolutional
// branch, which computes its factors once per function. A fully-connected trunk
// computes u once per sample. A field that is a single number s, such as the logarithm
// of a physical time, has no branch; it is an input of all branches: f^i_l(f̂_i, s).
//
//	branch  [n, G] or [n, H, W, c] → 3 × (convolution, stride 2, GELU) → flatten, s, emb(s) → hidden, GELU → q·d
//	trunk   [x, emb(x₁), …, emb(x_d), emb(t)] → depth × (width, GELU) → q·d
//
// emb is the interleaved sin/cos embedding with geometric frequencies. With the
// paper's sizes, the network of drift and diffusion has 940,928 parameters on 64 nodes
// and 2,513,792 on 256 nodes, where only the flattened convolution is larger; that of
// the drift on 32×32 nodes of the plane has 971,808.
package deeponet

import (
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// Config is the architecture. It implements velocity.Model.
type Config struct {
	Dimension int `json:"dimension" yaml:"dimension"` // d, numbers of a state
	// Fields are the inputs, all on the same grid: shape [G] on the line, [H, W, c]
	// with c numbers at a node of the plane. Shape [1] is a single number. At least
	// one is on the grid.
	Fields         []velocity.Input `json:"fields" yaml:"fields"`
	Rank           int              `json:"rank" yaml:"rank"`                       // q
	Channels       []int            `json:"channels" yaml:"channels"`               // of the branch convolutions
	Kernel         int              `json:"kernel" yaml:"kernel"`                   // odd width of every convolution, along each axis
	Hidden         int              `json:"hidden" yaml:"hidden"`                   // fully-connected layer of a branch
	TrunkWidth     int              `json:"trunk_width" yaml:"trunk_width"`         //
	TrunkDepth     int              `json:"trunk_depth" yaml:"trunk_depth"`         // hidden layers
	TimeEmbedding  int              `json:"time_embedding" yaml:"time_embedding"`   // even; of t and of single numbers
	StateEmbedding int              `json:"state_embedding" yaml:"state_embedding"` // even; of each number of a state
	FMin           float64          `json:"f_min" yaml:"f_min"`                     // lowest embedding frequency, cycles per unit
	FMax           float64          `json:"f_max" yaml:"f_max"`                     // highest
}

// Paper returns the sizes of the paper's one-dimensional experiments for drift
// and diffusion on a grid of that many nodes.
func Paper(nodes int) Config {
	return Config{
		Dimension: 1,
		Fields:    []velocity.Input{{Name: "drift", Shape: []int{nodes}}, {Name: "diffusion", Shape: []int{nodes}}},
		Rank:      128, Channels: []int{32, 64, 128}, Kernel: 5, Hidden: 256,
		TrunkWidth: 256, TrunkDepth: 4,
		TimeEmbedding: 32, StateEmbedding: 32, FMin: 0.5, FMax: 16,
	}
}

// PaperPlane returns the sizes for the drift alone on nodes×nodes nodes of the
// plane: the grid variant of the two-dimensional experiment.
func PaperPlane(nodes int) Config {
	c := Paper(nodes)
	c.Dimension, c.Kernel = 2, 3
	c.Fields = []velocity.Input{{Name: "drift", Shape: []int{nodes, nodes, 2}}}
	return c
}

// Bounds that keep a mistyped configuration from exhausting the memory.
const (
	maxDimension = 1 << 12
	maxGrid      = 1 << 16
	maxWidth     = 1 << 14
	maxLayers    = 64
	maxFields    = 8
)

// Validate reports the first field out of range.
func (c Config) Validate() error {
	for _, field := range []struct {
		name       string
		value      int
		low, high  int
		mustBeEven bool
	}{
		{"dimension", c.Dimension, 1, maxDimension, false},
		{"fields (their number)", len(c.Fields), 1, maxFields, false},
		{"rank", c.Rank, 1, maxWidth, false},
		{"channels (their number)", len(c.Channels), 1, 8, false},
		{"kernel", c.Kernel, 1, 63, false},
		{"hidden", c.Hidden, 1, maxWidth, false},
		{"trunk_width", c.TrunkWidth, 1, maxWidth, false},
		{"trunk_depth", c.TrunkDepth, 1, maxLayers, false},
		{"time_embedding", c.TimeEmbedding, 2, maxWidth, true},
		{"state_embedding", c.StateEmbedding, 2, maxWidth, true},
	} {
		if field.value < field.low || field.value > field.high {
			return fmt.Errorf("model: %s is %d, not in %d…%d", field.name, field.value, field.low, field.high)
		}
		if field.mustBeEven && field.value%2 != 0 {
			return fmt.Errorf("model: %s is %d, not even", field.name, field.value)
		}
	}
	if c.Kernel%2 == 0 {
		return fmt.Errorf("model: kernel is %d, not odd", c.Kernel)
	}
	for i, n := range c.Channels {
		if n < 1 || n > maxWidth {
			return fmt.Errorf("model: channels[%d] is %d, not in 1…%d", i, n, maxWidth)
		}
	}
	if !(c.FMin > 0 && c.FMin <= c.FMax && c.FMax <= 1e6) {
		return fmt.Errorf("model: frequencies f_min %g and f_max %g do not satisfy 0 < f_min ≤ f_max ≤ 1e6", c.FMin, c.FMax)
	}
	return c.validateFields()
}

// validateFields reports names that are empty or not unique, and shapes that are not
// those of a grid.
func (c Config) validateFields() error {
	if len(c.grids()) == 0 {
		return errors.New("model: fields: all are single numbers, none is on a grid")
	}
	seen := map[string]bool{"": true, "trunk": true} // not allowed for a branch
	for i, f := range c.Fields {
		if seen[f.Name] {
			return fmt.Errorf("model: fields[%d] is named %q, not a unique name", i, f.Name)
		}
		seen[f.Name] = true
		if single(f) {
			continue
		}
		if len(f.Shape) != 1 && len(f.Shape) != 3 {
			return fmt.Errorf("model: fields[%d] has shape %v, not [nodes] or [rows, columns, numbers]", i, f.Shape)
		}
		nodes := f.Shape
		if len(f.Shape) == 3 {
			nodes = f.Shape[:2]
			if n := f.Shape[2]; n < 1 || n > maxWidth {
				return fmt.Errorf("model: fields[%d] has %d numbers at a node, not in 1…%d", i, n, maxWidth)
			}
		}
		for _, n := range nodes {
			if n < 2 || n > maxGrid {
				return fmt.Errorf("model: fields[%d] has %d nodes along an axis, not in 2…%d", i, n, maxGrid)
			}
		}
	}
	return nil
}

// Dim is d.
func (c Config) Dim() int { return c.Dimension }

// Inputs returns the fields.
func (c Config) Inputs() []velocity.Input { return c.Fields }

// plane reports whether a field is on a grid of the plane.
func plane(f velocity.Input) bool { return len(f.Shape) == 3 }

// single reports whether a field is a single number.
func single(f velocity.Input) bool { return len(f.Shape) == 1 && f.Shape[0] == 1 }

// grids returns the fields on the grid, which have branches.
func (c Config) grids() []velocity.Input {
	var grids []velocity.Input
	for _, f := range c.Fields {
		if !single(f) {
			grids = append(grids, f)
		}
	}
	return grids
}

// stride of the convolutions along each axis; with it and same padding a length
// L becomes ⌈L/2⌉.
const stride = 2

func halved(length int) int { return (length + stride - 1) / stride }

// A convolution is one layer of a branch.
type convolution struct {
	name    string
	kernel  []int // along each axis
	in, out int   // channels
	nodes   []int // of the output, along each axis
}

// fanIn is the number of inputs that each output sums over.
func (v convolution) fanIn() int { return product(v.kernel) * v.in }

func product(factors []int) int {
	p := 1
	for _, n := range factors {
		p *= n
	}
	return p
}

// convolutions of the branch of a field.
func (c Config) convolutions(f velocity.Input) []convolution {
	nodes, in := slices.Clone(f.Shape), 1
	if plane(f) {
		nodes, in = nodes[:2], f.Shape[2]
	}
	kernel := slices.Repeat([]int{c.Kernel}, len(nodes))
	var all []convolution
	for i, out := range c.Channels {
		nodes = slices.Clone(nodes)
		for axis, n := range nodes {
			nodes[axis] = halved(n)
		}
		all = append(all, convolution{fmt.Sprintf("%s.conv%d", f.Name, i), kernel, in, out, nodes})
		in = out
	}
	return all
}

// hiddenInput is the number of inputs [flattened, s, emb(s)] of a branch's hidden
// layer, with s of all fields that are single numbers.
func (c Config) hiddenInput(f velocity.Input) int {
	all := c.convolutions(f)
	last := all[len(all)-1]
	return product(last.nodes)*last.out + (len(c.Fields)-len(c.grids()))*(1+c.TimeEmbedding)
}

// factors is the number of outputs of a branch and of the trunk, q·d.
func (c Config) factors() int { return c.Rank * c.Dimension }

// trunkInput is the number of inputs [x, emb(x₁), …, emb(x_d), emb(t)].
func (c Config) trunkInput() int { return c.Dimension*(1+c.StateEmbedding) + c.TimeEmbedding }

// Layout names every parameter, in the order in which the graph takes them.
// Dense weights are [in, out]; convolution weights are [kernel, in, out] on the
// line and [kernel, kernel, in, out] in the plane. Output l·d+k of branches and
// trunk is number k of factor l.
func (c Config) Layout() parameters.Layout {
	var l parameters.Layout
	layer := func(name string, shape []int, fanIn int) {
		l = append(l,
			parameters.Tensor{Name: name + ".weight", Shape: shape, FanIn: fanIn},
			parameters.Tensor{Name: name + ".bias", Shape: shape[len(shape)-1:], FanIn: fanIn})
	}
	for _, f := range c.grids() {
		for _, v := range c.convolutions(f) {
			layer(v.name, slices.Concat(v.kernel, []int{v.in, v.out}), v.fanIn())
		}
		layer(f.Name+".hidden", []int{c.hiddenInput(f), c.Hidden}, c.hiddenInput(f))
		layer(f.Name+".output", []int{c.Hidden, c.factors()}, c.Hidden)
	}
	in := c.trunkInput()
	for i := range c.TrunkDepth {
		layer(fmt.Sprintf("trunk.hidden%d", i), []int{in, c.TrunkWidth}, in)
		in = c.TrunkWidth
	}
	layer("trunk.output", []int{in, c.factors()}, in)
	return l
}
