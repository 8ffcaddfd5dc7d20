package sensor_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/gomlx/core/graph"
)

// With products of bfloat16 every network, and its gradient, stay within their
// rounding of float32, and are not equal to it: some product was rounded.
func TestBFloat16(t *testing.T) {
	check := func(t *testing.T, b *backend.Backend, c sensor.Config) {
		layout := c.Layout()
		const n, samples = 3, 8
		arguments := []array{
			vector(trained(layout)), noise("probes", n, c.Sensors, c.Steps, c.Features),
			noise("x", n, samples, c.Dimension), noise("t", n, samples), noise("u", n, samples, c.Dimension),
		}
		got := evaluate(t, b, arguments, func(in []*graph.Node) []*graph.Node {
			var outputs []*graph.Node
			for _, precision := range layers.Precisions() {
				parts := velocity.Split(layout, in[0])
				network := c.Network(parts, precision)
				v := network.Velocity(network.Encode(in[1:2]), in[2], in[3])
				r := graph.Sub(v, in[4])
				outputs = append(outputs, v)
				flat := make([]*graph.Node, len(parts))
				for i, gradient := range graph.Gradient(graph.ReduceAllSum(graph.Mul(r, r)), parts...) {
					flat[i] = graph.Reshape(gradient, -1)
				}
				outputs = append(outputs, graph.Concatenate(flat, 0))
			}
			return outputs
		})
		for i, what := range []string{"velocity", "gradient"} {
			if d := relative(got[2+i], got[i]); !(d > 1e-5 && d < 0.02) {
				t.Errorf("%s is %.2g from that of float32, relative to its length", what, d)
			}
		}
	}
	slow := goBackend(t)
	encoders(t, func(t *testing.T, c sensor.Config) { check(t, slow, c) })
	for _, decoder := range sensor.Decoders {
		for _, k := range sensor.Conditionings {
			c := tiny(decoder)
			c.Conditioning = k
			t.Run(string(decoder)+"/"+string(k), func(t *testing.T) { check(t, slow, c) })
		}
	}
	// XLA takes a minute to compile one. This has both products, of two and of more axes, and
	// convolutions that kernels compute.
	t.Run("fast", func(t *testing.T) {
		c := tiny(sensor.Equivariant)
		c.Channels = []int{16, 32}
		check(t, backendtest.Fast(t), c)
	})
}

// relative is the distance of two vectors over the length of the second.
func relative(got, want []float32) float64 {
	var difference, length float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		difference, length = difference+d*d, length+float64(want[i])*float64(want[i])
	}
	return math.Sqrt(difference / length)
}
