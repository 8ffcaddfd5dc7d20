package sensor

import (
	"fmt"

	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// Layout names every parameter, in the order in which the graph takes them.
// Dense weights are [in, out]; convolution weights are [kernel, in, out].
func (c Config) Layout() parameters.Layout {
	layout, _ := c.describe()
	return layout
}

// Summary lists the layers in the order of computation. Multiply–adds are those of the
// network as it is defined; the graph needs fewer (see perceiver.go and
// conditioning.go).
func (c Config) Summary() []velocity.Layer {
	_, layers := c.describe()
	return layers
}

// FLOPs implements velocity.Model.
func (c Config) FLOPs(functions, states int) float64 {
	return velocity.FLOPs(c.Summary(), functions, states)
}

// describe returns parameters and layers from one walk through the network, so that
// they agree.
func (c Config) describe() (parameters.Layout, []velocity.Layer) {
	var d description
	d.per = velocity.PerFunction
	e := c.embedding()
	switch c.Representation {
	case Trajectory:
		in := c.Features
		for i, out := range c.Channels {
			d.convolution(fmt.Sprintf("sensor.conv%d", i), c.Kernel, in, out, c.Sensors, c.Steps)
			d.norm(fmt.Sprintf("sensor.norm%d", i), out, c.Sensors, c.Steps)
			in = out
		}
	case Point:
		d.perceptron("sensor", c.Features, c.Hidden, e, c.Sensors)
	case Endpoint:
		d.perceptron("sensor", 3*c.Features, c.Hidden, e, c.Sensors)
	case Force:
		d.layer("sensor", "force at distances", []int{c.Sensors, e}, c.Sensors*c.Steps*c.Radial)
	}
	switch c.Aggregator {
	case Perceiver:
		c.describePerceiver(&d)
	case MeanPool:
		d.perceptron("pool", e, c.Hidden, c.Width)
	case DeepSets:
		d.perceptron("element", e, c.Hidden, e, c.Sensors)
		d.perceptron("pool", e, c.Hidden, c.Width)
	case Ratio:
		d.perceptron("pool", e/2, c.Hidden, c.Width)
	}
	d.per = velocity.PerSample
	c.describeDecoder(&d)
	return d.layout, d.layers
}

func (c Config) describePerceiver(d *description) {
	w := c.Width
	d.layer("perceiver.latents", "learned tokens", []int{c.Latents, w}, 0,
		parameters.Tensor{Name: "perceiver.latents", Shape: []int{c.Latents, w}, Start: parameters.Normal})
	d.layer("perceiver.embed", fmt.Sprintf("dense %d→%d, no bias", c.embedding(), w),
		[]int{c.Sensors, w}, c.Sensors*c.embedding()*w,
		parameters.Tensor{Name: "perceiver.embed.weight", Shape: []int{c.embedding(), w}, FanIn: c.embedding()})
	for i := range c.EncoderBlocks {
		block := fmt.Sprintf("perceiver.block%d", i)
		d.attention(block+".cross", w, w, c.Latents, c.Sensors)
		d.norm(block+".norm0", w, c.Latents)
		d.attention(block+".self", w, w, c.Latents, c.Latents)
		d.norm(block+".norm1", w, c.Latents)
		d.perceptron(block, w, c.FeedForward*w, w, c.Latents)
		d.norm(block+".norm2", w, c.Latents)
	}
	d.dense("perceiver.output", c.Latents*w, w)
}

func (c Config) describeDecoder(d *description) {
	width, tokens := c.DecoderWidth, c.tokens()
	d.dense("decoder.context", c.Width+c.TimeEmbedding, c.Width)
	in := c.token() // numbers of a token
	if c.Decoder == Pairs {
		in = c.Radial
	}
	d.dense("decoder.input", in+c.TimeEmbedding, width, tokens)
	appended := 0 // width of what concat appends
	if c.Conditioning == Concat {
		appended = c.Width
	}
	for i := range c.DecoderBlocks {
		block := fmt.Sprintf("decoder.block%d", i)
		if n := c.modulations() * width; n > 0 {
			d.dense(block+".modulation", c.Width, n)
		}
		if c.plainNorms() {
			d.norm(block+".norm0", width, tokens)
			d.norm(block+".norm1", width, tokens)
		}
		if c.Decoder == Flat {
			d.dense(block+".hidden", width+appended, width)
			d.dense(block+".output", width, width)
			continue
		}
		if c.Decoder == Pairs {
			c.describeMessages(d, block+".messages", width+appended)
		} else {
			d.attention(block+".attention", width+appended, width, tokens, tokens)
		}
		d.dense(block+".hidden", width+appended, c.FeedForward*width, tokens)
		d.dense(block+".output", c.FeedForward*width, width, tokens)
		if c.Decoder == Pairs {
			d.fromZero(block+".push", width, 1+c.Radial, tokens)
			d.layer(block+".pairs", "sum over pairs", []int{tokens, c.token()}, tokens*tokens*(c.Radial+c.token()))
		}
	}
	if c.Decoder != Pairs {
		d.norm("decoder.norm", width, tokens)
		d.fromZero("decoder.output", width, c.token(), tokens)
	}
}

// describeMessages has the messages between tokens, made from vectors of in numbers.
func (c Config) describeMessages(d *description, name string, in int) {
	tokens := c.tokens()
	d.dense(name+".value", in, c.Radial, tokens)
	d.layer(name, "sum over pairs", []int{tokens, 2 * c.Radial}, tokens*tokens*c.Radial*(1+c.token()))
	d.dense(name+".output", 2*c.Radial, c.DecoderWidth, tokens)
	d.layer(name+".own", fmt.Sprintf("dense %d→%d, no bias", c.Radial, c.DecoderWidth), []int{tokens, c.DecoderWidth}, tokens*c.Radial*c.DecoderWidth,
		parameters.Tensor{Name: name + ".own.weight", Shape: []int{c.Radial, c.DecoderWidth}, FanIn: c.Radial})
}

// description collects layers and their parameters. The last arguments of every method
// are the dimensions over which its layer is repeated.
type description struct {
	layout parameters.Layout
	layers []velocity.Layer
	per    string
}

func (d *description) layer(name, kind string, output []int, multiplyAdds int, tensors ...parameters.Tensor) {
	layer := velocity.Layer{Name: name, Kind: kind, Output: output, Per: d.per, MultiplyAdds: multiplyAdds}
	for _, t := range tensors {
		layer.Parameters += t.Size()
	}
	d.layers = append(d.layers, layer)
	d.layout = append(d.layout, tensors...)
}

func (d *description) dense(name string, in, out int, repeated ...int) {
	d.layer(name, fmt.Sprintf("dense %d→%d", in, out), append(repeated, out), product(repeated)*in*out, affine(name, in, []int{in, out})...)
}

// fromZero is a dense layer whose parameters are initially zero.
func (d *description) fromZero(name string, in, out, repeated int) {
	d.layer(name, fmt.Sprintf("dense %d→%d, from zero", in, out), []int{repeated, out}, repeated*in*out,
		parameters.Tensor{Name: name + ".weight", Shape: []int{in, out}, Start: parameters.Zeros},
		parameters.Tensor{Name: name + ".bias", Shape: []int{out}, Start: parameters.Zeros})
}

// perceptron is dense, GELU, dense.
func (d *description) perceptron(name string, in, hidden, out int, repeated ...int) {
	d.dense(name+".hidden", in, hidden, repeated...)
	d.dense(name+".output", hidden, out, repeated...)
}

func (d *description) convolution(name string, kernel, in, out int, repeated ...int) {
	d.layer(name, fmt.Sprintf("convolution %d→%d, width %d", in, out, kernel),
		append(repeated, out), product(repeated)*kernel*in*out,
		affine(name, in*kernel, []int{kernel, in, out})...)
}

func (d *description) norm(name string, width int, repeated ...int) {
	d.layer(name, "LayerNorm", append(repeated, width), 0,
		parameters.Tensor{Name: name + ".weight", Shape: []int{width}, Start: parameters.Ones},
		parameters.Tensor{Name: name + ".bias", Shape: []int{width}, Start: parameters.Zeros})
}

// attention of that many queries to that many keys, all computed from vectors of in
// numbers.
func (d *description) attention(name string, in, width, queries, keys int) {
	d.dense(name+".query", in, width, queries)
	d.dense(name+".key", in, width, keys)
	d.dense(name+".value", in, width, keys)
	d.layer(name, "softmax attention", []int{queries, width}, 2*queries*keys*width)
	d.dense(name+".output", width, width, queries)
}

// affine returns weight and bias of a map with fan inputs for each output.
func affine(name string, fan int, shape []int) []parameters.Tensor {
	return []parameters.Tensor{
		{Name: name + ".weight", Shape: shape, FanIn: fan},
		{Name: name + ".bias", Shape: shape[len(shape)-1:], FanIn: fan},
	}
}

func product(factors []int) int {
	p := 1
	for _, n := range factors {
		p *= n
	}
	return p
}
