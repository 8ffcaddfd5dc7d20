package sensor_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/network/sensor"
)

// The counts of the paper's reading, and of every other part by hand. A dense
// layer of n inputs and k outputs has (n+1)k parameters.
func TestParameterCounts(t *testing.T) {
	const (
		cnn       = 8*3*64 + 64 + 2*64 + 64*3*128 + 128 + 2*128
		attention = 4 * 129 * 128
		block     = 2*attention + 129*512 + 513*128 + 3*2*128
		perceiver = 128*128 + 4*128 + 2*block + 513*128
		mlp       = 129*128 + 129*128
		context   = 161*128 + 35*128
		residual  = 2 * 129 * 128
		output    = 2*128 + 129*2
		adaln     = 129 * 5 * 128
		// A block of pairs: modulation, messages, perceptron, push.
		pairs = 129*5*64 + 65*24 + 49*64 + 24*64 + 65*256 + 257*64 + 65*25
	)
	for name, test := range map[string]struct {
		change func(*sensor.Config)
		want   int
	}{
		"plane":     {func(*sensor.Config) {}, 1_126_338},
		"particles": {func(c *sensor.Config) { *c = sensor.Particles() }, 1_784_514},
		"by hand":   {func(*sensor.Config) {}, cnn + perceiver + context + 4*(residual+adaln) + output},
		"pairs": {func(c *sensor.Config) { *c = sensor.ParticlePairs() },
			25*128 + 129*128 + 161*128 + 57*64 + 3*pairs},
		"point": {func(c *sensor.Config) { c.Representation = sensor.Point },
			9*128 + 129*128 + perceiver + context + 4*(residual+adaln) + output},
		"endpoint": {func(c *sensor.Config) { c.Representation = sensor.Endpoint },
			25*128 + 129*128 + perceiver + context + 4*(residual+adaln) + output},
		"mean": {func(c *sensor.Config) { c.Aggregator = sensor.MeanPool },
			cnn + mlp + context + 4*(residual+adaln) + output},
		"deepsets": {func(c *sensor.Config) { c.Aggregator = sensor.DeepSets },
			cnn + 2*mlp + context + 4*(residual+adaln) + output},
		"film": {func(c *sensor.Config) { c.Conditioning = sensor.FiLM },
			cnn + perceiver + context + 4*(residual+129*4*128) + output},
		"concat": {func(c *sensor.Config) { c.Conditioning = sensor.Concat },
			cnn + perceiver + context + 4*(residual+128*128+4*128) + output},
		"dot": {func(c *sensor.Config) { c.Conditioning = sensor.Dot },
			cnn + perceiver + context + 4*(residual+129*128+4*128) + output},
	} {
		c := sensor.Plane()
		test.change(&c)
		if got := c.Layout().Size(); got != test.want {
			t.Errorf("%s: %d parameters, want %d", name, got, test.want)
		}
	}
}

// Layouts are valid, the summary counts the same parameters, and neither the
// number of sensors nor that of steps changes them.
func TestLayout(t *testing.T) {
	variants(t, func(t *testing.T, c sensor.Config) {
		if err := c.Validate(); err != nil {
			t.Fatal(err)
		}
		layout := c.Layout()
		if err := layout.Validate(); err != nil {
			t.Error(err)
		}
		total := 0
		for _, layer := range c.Summary() {
			total += layer.Parameters
		}
		if total != layout.Size() {
			t.Errorf("the summary counts %d parameters, want %d", total, layout.Size())
		}
		c.Sensors, c.Steps = 100*c.Sensors, 7*c.Steps
		if !layout.Equal(c.Layout()) {
			t.Error("the layout depends on the number of sensors or steps")
		}
	})
}

// The operations of the paper's steps, to the digits of the estimate: 578 and 773
// GFLOP; 181 for the points alone.
func TestFLOPs(t *testing.T) {
	point := sensor.Plane()
	point.Representation = sensor.Point
	for _, test := range []struct {
		config    sensor.Config
		functions int
		want      float64
	}{{sensor.Plane(), 512, 578e9}, {point, 512, 181e9}, {sensor.Particles(), 64, 773e9}} {
		if got := test.config.FLOPs(test.functions, 64*test.functions); !(math.Abs(got/test.want-1) <= 0.005) {
			t.Errorf("%s, %s: %.4g operations, want %.4g", test.config.Representation, test.config.Decoder, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*sensor.Config){
		"no sensors":         func(c *sensor.Config) { c.Sensors = 0 },
		"huge":               func(c *sensor.Config) { c.Sensors = 1 << 30 },
		"no steps":           func(c *sensor.Config) { c.Steps = 0 },
		"no features":        func(c *sensor.Config) { c.Features = -1 },
		"representation":     func(c *sensor.Config) { c.Representation = "grid" },
		"aggregator":         func(c *sensor.Config) { c.Aggregator = "" },
		"conditioning":       func(c *sensor.Config) { c.Conditioning = "AdaLN" },
		"decoder":            func(c *sensor.Config) { c.Decoder = "2d" },
		"no channels":        func(c *sensor.Config) { c.Channels = nil },
		"negative channel":   func(c *sensor.Config) { c.Channels = []int{64, -1} },
		"even kernel":        func(c *sensor.Config) { c.Kernel = 4 },
		"heads":              func(c *sensor.Config) { c.Heads = 3 },
		"particles":          func(c *sensor.Config) { c.Dimension = 63 },
		"decoder heads":      func(c *sensor.Config) { c.DecoderWidth = 130 },
		"no functions":       func(c *sensor.Config) { c.Decoder, c.Radial = sensor.Pairs, 1 },
		"wide functions":     func(c *sensor.Config) { c.Decoder, c.Radial = sensor.Pairs, c.DecoderWidth/2+1 },
		"pairs in space":     func(c *sensor.Config) { c.Decoder, c.Radial, c.ParticleDim = sensor.Pairs, 8, 4 },
		"no blocks":          func(c *sensor.Config) { c.DecoderBlocks = 0 },
		"odd embedding":      func(c *sensor.Config) { c.TimeEmbedding = 31 },
		"zero frequency":     func(c *sensor.Config) { c.FMin = 0 },
		"frequencies turned": func(c *sensor.Config) { c.FMin, c.FMax = 16, .5 },
		"frequency NaN":      func(c *sensor.Config) { c.FMax = math.NaN() },
	} {
		c := sensor.Particles()
		spoil(&c)
		if c.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	flat := sensor.Plane() // sizes of parts that are not chosen need not fit
	flat.Dimension, flat.DecoderWidth = 3, 130
	if err := flat.Validate(); err != nil {
		t.Error(err)
	}
}
