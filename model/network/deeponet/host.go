package deeponet

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/network/layers"
)

// Host is a network on the line that the processor evaluates itself, without a compute
// backend. It gives the results of Network up to rounding, and is ready at once: no plugin is
// loaded and nothing is compiled. It is safe for concurrent use.
type Host struct {
	config   Config
	branches []hostBranch
	code     *kernels.Dense // factors [q] → code [width+1]: the trunk's last layer
	trunk    []*kernels.Dense
	states   []float32 // angular frequencies of the embeddings of x and t
	times    []float32
}

// hostBranch is the branch of input number field.
type hostBranch struct {
	field          int
	convolutions   []*kernels.Dense // windows [kernel·in] → [out]
	hidden, output *kernels.Dense
}

// ErrHost means that Host does not compute a network of this kind.
var ErrHost = errors.New("the processor alone evaluates networks on the line")

// NewHost takes the parameters in the order of the layout. It fails with ErrHost for a network
// in the plane.
func NewHost(c Config, theta []float32) (*Host, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	layout := c.Layout()
	if len(theta) != layout.Size() {
		return nil, fmt.Errorf("deeponet: %d parameters, the network has %d", len(theta), layout.Size())
	}
	if c.Dimension != 1 {
		return nil, fmt.Errorf("deeponet: %d dimensions: %w", c.Dimension, ErrHost)
	}
	parts := make(map[string][]float32, len(layout))
	for i, offsets := 0, layout.Offsets(); i < len(layout); i++ {
		parts[layout[i].Name] = theta[offsets[i]:offsets[i+1]]
	}
	dense := func(name string, in, out int) *kernels.Dense {
		return kernels.NewDense(parts[name+".weight"], parts[name+".bias"], in, out)
	}
	h := &Host{config: c, states: angular(c, c.StateEmbedding), times: angular(c, c.TimeEmbedding)}
	for i, f := range c.Fields {
		if single(f) {
			continue
		}
		if plane(f) {
			return nil, fmt.Errorf("deeponet: %s is on a grid of the plane: %w", f.Name, ErrHost)
		}
		b := hostBranch{field: i, hidden: dense(f.Name+".hidden", c.hiddenInput(f), c.Hidden), output: dense(f.Name+".output", c.Hidden, c.Rank)}
		for _, v := range c.convolutions(f) {
			b.convolutions = append(b.convolutions, dense(v.name, v.fanIn(), v.out))
		}
		h.branches = append(h.branches, b)
	}
	in := c.trunkInput()
	for i := range c.TrunkDepth {
		h.trunk = append(h.trunk, dense(fmt.Sprintf("trunk.hidden%d", i), in, c.TrunkWidth))
		in = c.TrunkWidth
	}
	weight, bias := parts["trunk.output.weight"], parts["trunk.output.bias"] // [width, q], [q]
	h.code = kernels.EmptyDense(c.Rank, c.TrunkWidth+1)
	row := make([]float32, c.TrunkWidth+1)
	for l := range c.Rank {
		for k := range c.TrunkWidth {
			row[k] = weight[k*c.Rank+l]
		}
		row[c.TrunkWidth] = bias[l]
		h.code.SetRow(l, row)
	}
	return h, nil
}

// angular are the angular frequencies 2πf of an embedding of that width.
func angular(c Config, width int) []float32 {
	var all []float32
	for _, f := range layers.Frequencies(width/2, c.FMin, c.FMax) {
		all = append(all, float32(2*math.Pi*f))
	}
	return all
}

// embed writes [sin ω₀z, cos ω₀z, sin ω₁z, …] to dst.
func embed(dst, angular []float32, z float32) {
	for j, w := range angular {
		sin, cos := math.Sincos(float64(z * w))
		dst[2*j], dst[2*j+1] = float32(sin), float32(cos)
	}
}

// CodeSize is the length of a function's code, width + 1.
func (h *Host) CodeSize() int { return h.config.TrunkWidth + 1 }

// Inputs is the number of inputs of a function.
func (h *Host) Inputs() int { return len(h.config.Fields) }

// Encode returns the codes [n, width+1] of n functions, which Network's Encode defines. The
// inputs are those of Config.Fields, each [n, shape].
func (h *Host) Encode(inputs [][]float32, n int) ([]float32, error) {
	if len(inputs) != len(h.config.Fields) {
		return nil, fmt.Errorf("deeponet: %d inputs, the network has %d", len(inputs), len(h.config.Fields))
	}
	for i, f := range h.config.Fields {
		if len(inputs[i]) != n*f.Size() {
			return nil, fmt.Errorf("%d values of %s for %d functions, the network takes %v of each", len(inputs[i]), f.Name, n, f.Shape)
		}
	}
	numbers := h.numbers(inputs, n)
	factors := make([]float32, n*h.config.Rank)
	part := make([]float32, len(factors))
	for k, b := range h.branches {
		into := part
		if k == 0 {
			into = factors
		}
		h.branch(into, b, inputs[b.field], numbers, n)
		if k > 0 {
			for i, v := range part {
				factors[i] *= v
			}
		}
	}
	codes := make([]float32, n*h.CodeSize())
	h.code.Apply(codes, factors, false)
	return codes, nil
}

// numbers returns [s, emb(s)] of every field that is a single number, side by side: [n, width].
func (h *Host) numbers(inputs [][]float32, n int) []float32 {
	width := 1 + h.config.TimeEmbedding
	count := len(h.config.Fields) - len(h.branches)
	all := make([]float32, n*count*width)
	at := 0
	for i, f := range h.config.Fields {
		if !single(f) {
			continue
		}
		for function, s := range inputs[i] {
			row := all[(function*count+at)*width:]
			row[0] = s
			embed(row[1:], h.times, s)
		}
		at++
	}
	return all
}

// branch writes the factors [n, q] of a branch to dst.
func (h *Host) branch(dst []float32, b hostBranch, values, numbers []float32, n int) {
	c := h.config
	f := c.Fields[b.field]
	all := c.convolutions(f)
	width := c.hiddenInput(f)
	hidden := make([]float32, n*width)
	half := c.Kernel / 2
	for function := range n {
		source := values[function*f.Size() : (function+1)*f.Size()]
		row := hidden[function*width : (function+1)*width]
		for i, v := range all {
			// With zeros around it, the layer's windows are slices of its input: position p
			// reads nodes 2p − half to 2p + half.
			positions := v.nodes[0]
			padded := make([]float32, ((positions-1)*stride+c.Kernel)*v.in)
			copy(padded[half*v.in:], source)
			source = make([]float32, positions*v.out)
			if i == len(all)-1 {
				source = row[:positions*v.out]
			}
			b.convolutions[i].ApplyStrided(source, padded, positions, stride*v.in, true)
		}
		if count := len(numbers) / n; count > 0 {
			copy(row[width-count:], numbers[function*count:(function+1)*count])
		}
	}
	out := make([]float32, n*c.Hidden)
	b.hidden.Apply(out, hidden, true)
	b.output.Apply(dst, out, false)
}

// Hidden writes the last hidden layer of the trunk [n, width] at n states of the flow's
// coordinates and one time to dst. The velocity of a code is h·slope + offset.
func (h *Host) Hidden(dst, x []float32, t float64) {
	c := h.config
	in := c.trunkInput()
	rows := make([]float32, len(x)*in)
	time := make([]float32, c.TimeEmbedding)
	embed(time, h.times, float32(t))
	for i, v := range x {
		row := rows[i*in : (i+1)*in]
		row[0] = v
		embed(row[1:], h.states, v)
		copy(row[1+c.StateEmbedding:], time)
	}
	scratch := [2][]float32{make([]float32, len(x)*c.TrunkWidth), make([]float32, len(x)*c.TrunkWidth)}
	for i, layer := range h.trunk {
		out := scratch[i%2]
		if i == len(h.trunk)-1 {
			out = dst
		}
		layer.Apply(out, rows, true)
		rows = out
	}
}

// Velocity writes v(x, t) at n states to dst, for one function's code.
func (h *Host) Velocity(dst, code, x []float32, t float64) {
	width := h.config.TrunkWidth
	hidden := make([]float32, len(x)*width)
	h.Hidden(hidden, x, t)
	for i := range x {
		sum := float64(code[width])
		for k, v := range hidden[i*width : (i+1)*width] {
			sum += float64(v) * float64(code[k])
		}
		dst[i] = float32(sum)
	}
}
