package sensor

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/network/kernels"
)

// hostBlock is one block of the decoder. Parts that the configuration does not have are nil.
type hostBlock struct {
	modulation  *kernels.Dense // c → γ, β, α or g
	gain, shift [2][]float32   // of norms that c does not modulate
	joint       *kernels.Dense // → queries, keys and values of the tokens, or their messages, without c
	attended    *kernels.Dense // the output map of attention or messages
	hidden      *kernels.Dense // without c
	output      *kernels.Dense
	own, push   *kernels.Dense    // of pairs: ρ(|y|) → tokens, tokens → [c; q]
	fromC       [2]*kernels.Dense // of concat: c → what it adds to joint and hidden, with their bias
}

// hostMoment is a block at one time of one function: what all samples share.
type hostMoment struct {
	*hostBlock
	gain, shift   [2][]float32
	gate          []float32
	features      []float32 // nil without dot
	joint, hidden *kernels.Dense
}

// hostRows is how many tokens go through the decoder together: their hidden states stay in the
// second-level cache, and fill the tiles of package kernels.
const hostRows = 192

// hostScratch has the hidden states of a block of samples.
type hostScratch struct {
	h, u, v   []float32
	attention *kernels.Attention // of particles
	pairs     *hostPairs         // of pairs
}

// Block is how many states At computes together.
func (h *Host) Block() int { return max(1, hostRows/h.config.tokens()) }

func (h *Host) newScratch() *hostScratch {
	c := h.config
	rows, wide := h.Block()*c.tokens(), c.DecoderWidth
	s := new(hostScratch)
	switch c.Decoder {
	case Equivariant:
		s.attention = kernels.NewAttention(c.tokens(), c.Heads, c.DecoderWidth/c.Heads)
		wide *= max(3, c.FeedForward)
	case Pairs:
		s.pairs = newHostPairs(h.Block(), c.tokens(), c.Radial, c.DecoderWidth)
		wide *= max(2, c.FeedForward) // 1 + K is at most D
	}
	s.h, s.u, s.v = make([]float32, rows*c.DecoderWidth), make([]float32, rows*c.DecoderWidth), make([]float32, rows*wide)
	return s
}

func (h *Host) makeDecoder() {
	c := h.config
	width := c.DecoderWidth
	h.keep("decoder.context")
	input := h.weight("decoder.input")
	in := c.token()
	if c.Decoder == Pairs {
		in = c.Radial
	} else {
		output := h.weight("decoder.output") // [D, token]
		h.output = make([]float32, len(output))
		for i, w := range output {
			h.output[i%c.token()*width+i/c.token()] = w
		}
	}
	h.dense["decoder.input"] = kernels.NewDense(input[:in*width], nil, in, width)
	h.dense["decoder.time"] = kernels.NewDense(input[in*width:], h.bias("decoder.input"), c.TimeEmbedding, width)
	for i := range c.DecoderBlocks {
		h.blocks = append(h.blocks, h.makeBlock(fmt.Sprintf("decoder.block%d", i)))
	}
}

func (h *Host) makeBlock(name string) hostBlock {
	c := h.config
	width, appended := c.DecoderWidth, 0
	if c.Conditioning == Concat {
		appended = c.Width
	}
	h.keep(name + ".output")
	b := hostBlock{output: h.dense[name+".output"]}
	if c.modulations() > 0 {
		h.keep(name + ".modulation")
		b.modulation = h.dense[name+".modulation"]
	}
	if c.plainNorms() {
		for k := range b.gain {
			norm := fmt.Sprintf("%s.norm%d", name, k)
			b.gain[k], b.shift[k] = h.weight(norm), h.bias(norm)
		}
	}
	// split makes a layer of the tokens' numbers, and one of those of c after them.
	split := func(own, fromC, bias []float32, place int) *kernels.Dense {
		if appended == 0 {
			return kernels.NewDense(own, bias, width, len(bias))
		}
		b.fromC[place] = kernels.NewDense(fromC, bias, appended, len(bias))
		return kernels.NewDense(own, nil, width, len(bias))
	}
	switch c.Decoder {
	case Equivariant:
		h.keep(name + ".attention.output")
		b.attended = h.dense[name+".attention.output"]
		own, bias := h.joint(name+".attention", 0, width)
		fromC, _ := h.joint(name+".attention", width, width+appended)
		b.joint = split(own, fromC, bias, 0)
	case Pairs:
		h.keep(name + ".messages.output")
		b.attended = h.dense[name+".messages.output"]
		weight, bias := h.weight(name+".messages.value"), h.bias(name+".messages.value")
		b.joint = split(weight[:width*c.Radial], weight[width*c.Radial:], bias, 0)
		b.own = kernels.NewDense(h.weight(name+".messages.own"), nil, c.Radial, width)
		h.keep(name + ".push")
		b.push = h.dense[name+".push"]
	}
	weight, bias := h.weight(name+".hidden"), h.bias(name+".hidden")
	b.hidden = split(weight[:width*len(bias)], weight[width*len(bias):], bias, 1)
	return b
}

// moment computes what c [Width] makes of a block.
func (h *Host) moment(b *hostBlock, c, ones []float32) hostMoment {
	width := h.config.DecoderWidth
	m := hostMoment{hostBlock: b, gain: b.gain, shift: b.shift, gate: ones, joint: b.joint, hidden: b.hidden}
	apply := func(layer *kernels.Dense) []float32 {
		result := make([]float32, layer.Outputs())
		layer.Apply(result, c, kernels.Linear)
		return result
	}
	var all []float32
	if b.modulation != nil {
		all = apply(b.modulation)
	}
	part := func(j int) []float32 { return all[j*width : (j+1)*width] }
	switch h.config.Conditioning {
	case Dot:
		m.features = all
	case Concat:
		if b.joint != nil {
			m.joint = b.joint.WithBias(apply(b.fromC[0]))
		}
		m.hidden = b.hidden.WithBias(apply(b.fromC[1]))
	case AdaLN:
		m.gate = part(4)
		fallthrough
	case FiLM:
		for k := range m.gain {
			m.gain[k], m.shift[k] = part(2*k), part(2*k+1)
			for i := range m.gain[k] {
				m.gain[k][i]++
			}
		}
	}
	return m
}

// At returns the velocity at time t of the function with that code. It writes v [n, d] at n
// states x [n, d] to dst, and is safe for concurrent use.
func (h *Host) At(code []float32, t float64) func(dst, x []float32) {
	c := h.config
	tau := h.embedTime(t)
	context := make([]float32, c.Width)
	h.dense["decoder.context"].Apply(context, append(append([]float32(nil), code...), tau...), kernels.Linear)
	fromTime := make([]float32, c.DecoderWidth)
	h.dense["decoder.time"].Apply(fromTime, tau, kernels.Linear)
	input := h.dense["decoder.input"].WithBias(fromTime)
	ones := make([]float32, c.DecoderWidth)
	for i := range ones {
		ones[i] = 1
	}
	moments := make([]hostMoment, len(h.blocks))
	for i := range h.blocks {
		moments[i] = h.moment(&h.blocks[i], context, ones)
	}
	return func(dst, x []float32) {
		s := h.scratch.Get().(*hostScratch)
		defer h.scratch.Put(s)
		size := h.Block() * c.Dimension
		for len(x) > 0 {
			n := min(size, len(x))
			if c.Decoder == Pairs {
				h.decodePairs(dst[:n], x[:n], 1-float32(t), s, input, moments)
			} else {
				h.decode(dst[:n], x[:n], s, input, moments)
			}
			dst, x = dst[n:], x[n:]
		}
	}
}

// decode writes the velocities of a block of states to dst.
func (h *Host) decode(dst, x []float32, s *hostScratch, input *kernels.Dense, moments []hostMoment) {
	c := h.config
	token, width := c.token(), c.DecoderWidth
	rows := len(x) / token
	state, u := s.h[:rows*width], s.u[:rows*width]
	input.Apply(state, x, kernels.Linear)
	for _, m := range moments {
		if c.Decoder == Equivariant {
			m.attend(state, u, s, c.tokens(), width)
			m.forward(state, u, s, width)
		} else {
			m.residual(state, u, s.v[:rows*width])
		}
	}
	kernels.Normalise(u, state, h.weight("decoder.norm"), h.bias("decoder.norm"), kernels.Linear)
	bias := h.bias("decoder.output")
	for i := range rows {
		for k := range token {
			dst[i*token+k] = kernels.Dot(u[i*width:(i+1)*width], h.output[k*width:(k+1)*width]) + bias[k]
		}
	}
}

// residual is the block of a flat decoder, of h [rows, D]; u and v are scratch of its size.
func (m hostMoment) residual(h, u, v []float32) {
	kernels.Normalise(u, h, m.gain[0], m.shift[0], kernels.Mish)
	m.hidden.Apply(v, u, kernels.Linear)
	kernels.Normalise(v, v, m.gain[1], m.shift[1], kernels.Mish)
	if m.features != nil {
		kernels.Scale(v, m.features)
	}
	m.output.Apply(u, v, kernels.Linear)
	kernels.AddScaled(h, u, m.gate)
}

// attend is the first branch of a block of particles, of h [samples·tokens, D]; u is scratch of its size.
func (m hostMoment) attend(h, u []float32, s *hostScratch, tokens, width int) {
	kernels.Normalise(u, h, m.gain[0], m.shift[0], kernels.Linear)
	joint := s.v[:3*len(h)]
	m.joint.Apply(joint, u, kernels.Linear)
	size := tokens * width
	for i := 0; i < len(h); i += size {
		s.attention.Apply(u[i:i+size], joint[3*i:3*(i+size)])
	}
	if m.features != nil {
		kernels.Scale(u, m.features[:width])
	}
	added := s.v[:len(h)]
	m.attended.Apply(added, u, kernels.Linear)
	kernels.AddScaled(h, added, m.gate)
}

// forward is the perceptron of each token, the second branch of a block.
func (m hostMoment) forward(h, u []float32, s *hostScratch, width int) {
	kernels.Normalise(u, h, m.gain[1], m.shift[1], kernels.Linear)
	hidden := s.v[:len(h)/width*m.hidden.Outputs()]
	m.hidden.Apply(hidden, u, kernels.Mish)
	if m.features != nil {
		kernels.Scale(hidden, m.features[width:])
	}
	m.output.Apply(u, hidden, kernels.Linear)
	kernels.AddScaled(h, u, m.gate)
}
