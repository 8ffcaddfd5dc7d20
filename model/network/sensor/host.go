package sensor

import (
	"fmt"
	"math"
	"sync"

	"github.com/ergoflow/ergoflow/model/network/kernels"
	"github.com/ergoflow/ergoflow/model/network/layers"
)

// Host is a network that the processor evaluates itself, without a compute backend. It gives
// the results of Network in float32 up to rounding, and is ready at once: no plugin is loaded
// and nothing is compiled. It is safe for concurrent use.
type Host struct {
	config  Config
	parts   map[string][]float32
	dense   map[string]*kernels.Dense // layers that are applied as they are
	queries map[string]*kernels.Dense // of attention: → [queries, keys, values]
	cross   []crossAttention          // of the perceiver's blocks
	blocks  []hostBlock               // of the decoder
	output  []float32                 // weights of the decoder's last map, transposed: [token, D]
	times   []float32                 // angular frequencies of the embedding of t
	scratch sync.Pool                 // of *hostScratch
}

// NewHost takes the parameters in the order of the layout.
func NewHost(c Config, theta []float32) (*Host, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	layout := c.Layout()
	if len(theta) != layout.Size() {
		return nil, fmt.Errorf("sensor: %d parameters, the network has %d", len(theta), layout.Size())
	}
	h := &Host{
		config: c, parts: layout.Split(theta),
		dense: make(map[string]*kernels.Dense), queries: make(map[string]*kernels.Dense),
	}
	for _, f := range layers.Frequencies(c.TimeEmbedding/2, c.FMin, c.FMax) {
		h.times = append(h.times, float32(2*math.Pi*f))
	}
	h.makeEncoder()
	h.makeDecoder()
	h.scratch.New = func() any { return h.newScratch() }
	return h, nil
}

// CodeSize is the length of a function's code.
func (h *Host) CodeSize() int { return h.config.Width }

// weight are the weights [in, out] of a layer, bias is its bias [out].
func (h *Host) weight(name string) []float32 { return h.parts[name+".weight"] }
func (h *Host) bias(name string) []float32   { return h.parts[name+".bias"] }

// keep makes layers that are applied as they are.
func (h *Host) keep(names ...string) {
	for _, name := range names {
		out := len(h.bias(name))
		h.dense[name] = kernels.NewDense(h.weight(name), h.bias(name), len(h.weight(name))/out, out)
	}
}

// keepPerceptron makes the layers of dense, GELU, dense.
func (h *Host) keepPerceptron(name string) { h.keep(name+".hidden", name+".output") }

// perceptron is dense, GELU, dense of the rows of x.
func (h *Host) perceptron(name string, x []float32) []float32 {
	hidden, output := h.bias(name+".hidden"), h.bias(name+".output")
	rows := len(x) / (len(h.weight(name+".hidden")) / len(hidden))
	inner, result := make([]float32, rows*len(hidden)), make([]float32, rows*len(output))
	h.dense[name+".hidden"].Apply(inner, x, kernels.GELU)
	h.dense[name+".output"].Apply(result, inner, kernels.Linear)
	return result
}

// norm is LayerNorm with gain and bias of the rows of x, in place.
func (h *Host) norm(name string, x []float32, a kernels.Activation) {
	kernels.Normalise(x, x, h.weight(name), h.bias(name), a)
}

// joint returns rows [low, high) of the weights of an attention's queries, keys and values side
// by side, and their biases. The queries are divided by the root of the heads' width, as
// package kernels takes them. The keys' bias has no effect and is left out.
func (h *Host) joint(name string, low, high int) (weight, bias []float32) {
	width := len(h.bias(name + ".query"))
	scale := float32(1 / math.Sqrt(float64(width/h.config.Heads)))
	weight, bias = make([]float32, (high-low)*3*width), make([]float32, 3*width)
	for part, kind := range []string{".query", ".key", ".value"} {
		factor := float32(1)
		if part == 0 {
			factor = scale
		}
		own := h.weight(name + kind)
		for i := range high - low {
			for j := range width {
				weight[(i*3+part)*width+j] = factor * own[(low+i)*width+j]
			}
		}
		if kind == ".key" {
			continue
		}
		for j, b := range h.bias(name + kind) {
			bias[part*width+j] = factor * b
		}
	}
	return weight, bias
}

// embedTime returns [sin ω₀t, cos ω₀t, sin ω₁t, …].
func (h *Host) embedTime(t float64) []float32 {
	tau := make([]float32, 0, 2*len(h.times))
	for _, w := range h.times {
		sin, cos := math.Sincos(float64(float32(t) * w))
		tau = append(tau, float32(sin), float32(cos))
	}
	return tau
}
