package sensor_test

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// array is an argument of a graph.
type array struct {
	values []float32
	shape  []int
}

// evaluate compiles a graph for the arguments, runs it and returns its outputs.
func evaluate(t testing.TB, b *backend.Backend, arguments []array, build func([]*graph.Node) []*graph.Node) [][]float32 {
	t.Helper()
	var inputs []shapes.Shape
	var values [][]float32
	for _, a := range arguments {
		inputs, values = append(inputs, backend.Shape(a.shape...)), append(values, a.values)
	}
	program, err := b.Compile(t.Name(), inputs, build)
	if err != nil {
		t.Fatal(err)
	}
	defer program.Close()
	return backendtest.Run(t, b, program, values...)
}

// network is what a graph has of theta, its first argument.
func network(c sensor.Config, theta *graph.Node) velocity.Network {
	return c.Network(velocity.Split(c.Layout(), theta), layers.Float32)
}

// vector is theta as an argument.
func vector(theta []float32) array { return array{theta, []int{len(theta)}} }

// noise is a tensor of normal numbers, a function of its name and shape.
func noise(name string, shape ...int) array {
	a := array{shape: shape, values: make([]float32, size(shape))}
	source := random.New(1, "test/"+name)
	for i := range a.values {
		a.values[i] = float32(source.NormFloat64())
	}
	return a
}

func size(shape []int) int {
	n := 1
	for _, k := range shape {
		n *= k
	}
	return n
}

// trained is a vector of parameters in which nothing is zero or one any more.
func trained(layout parameters.Layout) []float32 {
	theta := layout.Initialise(1)
	source := random.New(1, "test/trained")
	for i, offset := range layout.Offsets()[:len(layout)] {
		if layout[i].Start == parameters.Uniform {
			continue
		}
		for j := range layout[i].Size() {
			theta[offset+j] += float32(0.2 * source.NormFloat64())
		}
	}
	return theta
}

// tiny is a network of a few numbers on both decoders.
func tiny(decoder sensor.Decoder) sensor.Config {
	c := sensor.Config{
		Sensors: 5, Steps: 4, Features: 3,
		Representation: sensor.Trajectory, Aggregator: sensor.Perceiver, Conditioning: sensor.AdaLN, Decoder: decoder,
		Channels: []int{4, 6}, Kernel: 3, Hidden: 5,
		Width: 8, Latents: 2, EncoderBlocks: 2, Heads: 2, FeedForward: 2,
		Dimension: 2, ParticleDim: 2, DecoderWidth: 8, DecoderBlocks: 2,
		TimeEmbedding: 4, FMin: 0.5, FMax: 4,
	}
	if decoder != sensor.Flat {
		c.Dimension, c.Radial = 8, 4
	}
	return c
}

// variants calls test for every encoder, and for every decoder with every conditioning. Of an
// encoder a decoder sees the code alone.
func variants(t *testing.T, test func(t *testing.T, c sensor.Config)) {
	encoders(t, test)
	for _, decoder := range sensor.Decoders {
		for _, k := range sensor.Conditionings {
			t.Run(string(decoder)+"/"+string(k), func(t *testing.T) {
				c := tiny(decoder)
				c.Conditioning = k
				test(t, c)
			})
		}
	}
}

// encoders calls test for every combination of the encoder's parts.
func encoders(t *testing.T, test func(t *testing.T, c sensor.Config)) {
	for _, r := range sensor.Representations {
		for _, a := range sensor.Aggregators {
			c := tiny(sensor.Flat)
			c.Representation, c.Aggregator = r, a
			if r == sensor.Force {
				c.Features, c.Radial = 4, 4
			} else if a == sensor.Ratio {
				continue
			}
			t.Run(string(r)+"/"+string(a), func(t *testing.T) { test(t, c) })
		}
	}
}
