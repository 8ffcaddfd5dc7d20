package deeponet

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/network/layers"
)

// Host is a network that the processor evaluates itself, without a compute backend. It gives
// the results of Network up to rounding, and is ready at once: no plugin is loaded and nothing
// is compiled. It is safe for concurrent use.
type Host struct {
	config   Config
	branches []hostBranch
	codes    []*kernels.Dense // by number k of a state: factors [q] → [width+1], the trunk's last layer
	state    *kernels.Dense   // [x, emb(x₁), …, emb(x_d)] → [width], without GELU: the first layer of the trunk
	time     *kernels.Dense   // emb(t) → [width], with the bias of that layer
	trunk    []*kernels.Dense // its other layers
	states   []float32        // angular frequencies of the embeddings of x and t
	times    []float32
	scratch  sync.Pool // of *trunkScratch
}

// hostBranch is the branch of input number field.
type hostBranch struct {
	field          int
	convolutions   []*kernels.Dense // windows [kernel…·in] → [out]
	hidden, output *kernels.Dense
}

// hostBlock is how many states go through the trunk together: their hidden layers stay in the
// second-level cache, and fill the tiles of package kernels.
const hostBlock = 192

// trunkScratch has the layers of a block of states.
type trunkScratch struct{ input, hidden, next []float32 }

// NewHost takes the parameters in the order of the layout.
func NewHost(c Config, theta []float32) (*Host, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	layout := c.Layout()
	if len(theta) != layout.Size() {
		return nil, fmt.Errorf("deeponet: %d parameters, the network has %d", len(theta), layout.Size())
	}
	parts := layout.Split(theta)
	dense := func(name string, in, out int) *kernels.Dense {
		return kernels.NewDense(parts[name+".weight"], parts[name+".bias"], in, out)
	}
	h := &Host{config: c, states: angular(c, c.StateEmbedding), times: angular(c, c.TimeEmbedding)}
	for i, f := range c.Fields {
		if single(f) {
			continue
		}
		b := hostBranch{field: i, hidden: dense(f.Name+".hidden", c.hiddenInput(f), c.Hidden), output: dense(f.Name+".output", c.Hidden, c.factors())}
		for _, v := range c.convolutions(f) {
			b.convolutions = append(b.convolutions, dense(v.name, v.fanIn(), v.out))
		}
		h.branches = append(h.branches, b)
	}
	width, own := c.TrunkWidth, c.trunkInput()-c.TimeEmbedding
	first := parts["trunk.hidden0.weight"]
	h.state = kernels.NewDense(first[:own*width], nil, own, width)
	h.time = kernels.NewDense(first[own*width:], parts["trunk.hidden0.bias"], c.TimeEmbedding, width)
	for i := 1; i < c.TrunkDepth; i++ {
		h.trunk = append(h.trunk, dense(fmt.Sprintf("trunk.hidden%d", i), width, width))
	}
	weight, bias := parts["trunk.output.weight"], parts["trunk.output.bias"] // [width, q·d], [q·d]
	row := make([]float32, width+1)
	for k := range c.Dimension {
		code := kernels.EmptyDense(c.Rank, width+1)
		for l := range c.Rank {
			for i := range width {
				row[i] = weight[i*c.factors()+l*c.Dimension+k]
			}
			row[width] = bias[l*c.Dimension+k]
			code.SetRow(l, row)
		}
		h.codes = append(h.codes, code)
	}
	h.scratch.New = func() any {
		return &trunkScratch{make([]float32, hostBlock*own), make([]float32, hostBlock*width), make([]float32, hostBlock*width)}
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

// CodeSize is the length of a function's code, d·(width+1).
func (h *Host) CodeSize() int { return h.config.Dimension * (h.config.TrunkWidth + 1) }

// Inputs is the number of inputs of a function.
func (h *Host) Inputs() int { return len(h.config.Fields) }

// Encode returns the codes [n, d·(width+1)] of n functions, which Network's Encode defines. The
// inputs are those of Config.Fields, each [n, shape]. All processors compute.
func (h *Host) Encode(ctx context.Context, inputs [][]float32, n int) ([]float32, error) {
	if len(inputs) != len(h.config.Fields) {
		return nil, fmt.Errorf("deeponet: %d inputs, the network has %d", len(inputs), len(h.config.Fields))
	}
	for i, f := range h.config.Fields {
		if len(inputs[i]) != n*f.Size() {
			return nil, fmt.Errorf("%d values of %s for %d functions, the network takes %v of each", len(inputs[i]), f.Name, n, f.Shape)
		}
	}
	codes := make([]float32, n*h.CodeSize())
	// A group shares one reading of the branches' large layers.
	size := max(1, (n+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	err := simulate.Each(ctx, (n+size-1)/size, func(_ context.Context, i int) error {
		first, last := i*size, min((i+1)*size, n)
		group := make([][]float32, len(inputs))
		for k, f := range h.config.Fields {
			group[k] = inputs[k][first*f.Size() : last*f.Size()]
		}
		h.encode(codes[first*h.CodeSize():last*h.CodeSize()], group, last-first)
		return nil
	}, nil)
	return codes, err
}

// encode writes the codes of n functions to dst.
func (h *Host) encode(dst []float32, inputs [][]float32, n int) {
	c := h.config
	numbers := h.numbers(inputs, n)
	factors := make([]float32, n*c.factors())
	part := make([]float32, len(factors))
	for i, b := range h.branches {
		into := part
		if i == 0 {
			into = factors
		}
		h.branch(into, b, inputs[b.field], numbers, n)
		if i > 0 {
			for j, v := range part {
				factors[j] *= v
			}
		}
	}
	if c.Dimension == 1 {
		h.codes[0].Apply(dst, factors, kernels.Linear)
		return
	}
	width := c.TrunkWidth + 1
	own, code := make([]float32, n*c.Rank), make([]float32, n*width) // of number k of the states
	for k := range c.Dimension {
		for i := range own {
			own[i] = factors[i*c.Dimension+k]
		}
		h.codes[k].Apply(code, own, kernels.Linear)
		for i := range n {
			copy(dst[(i*c.Dimension+k)*width:][:width], code[i*width:])
		}
	}
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

// branch writes the factors [n, q·d] of a branch to dst.
func (h *Host) branch(dst []float32, b hostBranch, values, numbers []float32, n int) {
	c := h.config
	f := c.Fields[b.field]
	width := c.hiddenInput(f)
	hidden := make([]float32, n*width)
	for function := range n {
		source := values[function*f.Size() : (function+1)*f.Size()]
		row := hidden[function*width : (function+1)*width]
		nodes := f.Shape
		for i, v := range c.convolutions(f) {
			out := row // of the last layer
			if i < len(b.convolutions)-1 {
				out = make([]float32, product(v.nodes)*v.out)
			}
			convolve(out[:product(v.nodes)*v.out], source, b.convolutions[i], v, nodes)
			source, nodes = out, v.nodes
		}
		if count := len(numbers) / n; count > 0 {
			copy(row[width-count:], numbers[function*count:(function+1)*count])
		}
	}
	out := make([]float32, n*c.Hidden)
	b.hidden.Apply(out, hidden, kernels.GELU)
	b.output.Apply(dst, out, kernels.Linear)
}

// convolve writes GELU of the convolution v of source [nodes…, in] to dst [v.nodes…, out].
func convolve(dst, source []float32, layer *kernels.Dense, v convolution, nodes []int) {
	kernel := v.kernel[0]
	half, columns := kernel/2, v.nodes[len(v.nodes)-1]
	// With zeros around it, the part of a window in one row of the source is a slice of that
	// row: position p reads nodes 2p − half to 2p + half.
	length, wide := nodes[len(v.nodes)-1]*v.in, ((columns-1)*stride+kernel)*v.in
	if len(v.nodes) == 1 {
		padded := make([]float32, wide)
		copy(padded[half*v.in:], source[:length])
		layer.ApplyStrided(dst, padded, columns, stride*v.in, kernels.GELU)
		return
	}
	rows := (v.nodes[0]-1)*stride + kernel
	padded := make([]float32, rows*wide)
	for i := 0; i < nodes[0] && i+half < rows; i++ {
		copy(padded[(i+half)*wide+half*v.in:(i+half+1)*wide], source[i*length:(i+1)*length])
	}
	span := kernel * v.in
	windows := make([]float32, columns*kernel*span) // of one row of positions
	for p := range v.nodes[0] {
		for q := range columns {
			for j := range kernel {
				copy(windows[(q*kernel+j)*span:][:span], padded[(p*stride+j)*wide+q*stride*v.in:])
			}
		}
		layer.Apply(dst[p*columns*v.out:(p+1)*columns*v.out], windows, kernels.GELU)
	}
}

// Hidden writes the last hidden layer of the trunk [n, width] at n states x [n, d] of the flow's
// coordinates and one time to dst. Number k of the velocity of a code is h·slope_k + offset_k.
func (h *Host) Hidden(dst, x []float32, t float64) {
	d, width := h.config.Dimension, h.config.TrunkWidth
	first := h.first(t)
	s := h.scratch.Get().(*trunkScratch)
	defer h.scratch.Put(s)
	for i := 0; i < len(x)/d; i += hostBlock {
		n := min(hostBlock, len(x)/d-i)
		copy(dst[i*width:(i+n)*width], h.hidden(s, x[i*d:(i+n)*d], first))
	}
}

// first is the first layer of the trunk at one time.
func (h *Host) first(t float64) *kernels.Dense {
	embedding, bias := make([]float32, len(h.times)*2), make([]float32, h.config.TrunkWidth)
	embed(embedding, h.times, float32(t))
	h.time.Apply(bias, embedding, kernels.Linear)
	return h.state.WithBias(bias)
}

// hidden returns the last hidden layer [n, width] at a block of states x [n, d].
func (h *Host) hidden(s *trunkScratch, x []float32, first *kernels.Dense) []float32 {
	c := h.config
	d, width := c.Dimension, c.TrunkWidth
	n, in := len(x)/d, d*(1+c.StateEmbedding)
	for i := range n {
		row, state := s.input[i*in:(i+1)*in], x[i*d:(i+1)*d]
		copy(row, state)
		for k, v := range state {
			embed(row[d+k*c.StateEmbedding:], h.states, v)
		}
	}
	out, next := s.hidden[:n*width], s.next[:n*width]
	first.Apply(out, s.input[:n*in], kernels.GELU)
	for _, layer := range h.trunk {
		layer.Apply(next, out, kernels.GELU)
		out, next = next, out
	}
	return out
}

// At returns the velocity at time t of the function with that code. It writes v [n, d] at n
// states x [n, d] to dst, and is safe for concurrent use.
func (h *Host) At(code []float32, t float64) func(dst, x []float32) {
	d, width := h.config.Dimension, h.config.TrunkWidth
	first := h.first(t)
	return func(dst, x []float32) {
		s := h.scratch.Get().(*trunkScratch)
		defer h.scratch.Put(s)
		for len(x) > 0 {
			n := min(hostBlock, len(x)/d)
			hidden := h.hidden(s, x[:n*d], first)
			for i := range n {
				row := hidden[i*width : (i+1)*width]
				for k := range d {
					own := code[k*(width+1):]
					dst[i*d+k] = kernels.Dot(row, own[:width]) + own[width]
				}
			}
			dst, x = dst[n*d:], x[n*d:]
		}
	}
}

// Block is how many states At computes together.
func (h *Host) Block() int { return hostBlock }
