package sensor_test

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/gomlx/core/graph"
)

// The gradient agrees with symmetric differences of the loss along random
// directions, for every part. With a step of 0.005 in directions of length one,
// rounding of the losses in float32 and the third derivative leave less than 2 %.
func TestGradientIsTheSlope(t *testing.T) {
	b := goBackend(t)
	check := func(t *testing.T, c sensor.Config) {
		layout := c.Layout()
		theta := trained(layout)
		const n, samples, step = 2, 3, 0.005
		data := []array{
			noise("probes", n, c.Sensors, c.Steps, c.Features), noise("x", n, samples, c.Dimension),
			noise("t", n, samples), noise("u", n, samples, c.Dimension),
		}
		// The loss at θ, θ + step·direction and θ − step·direction, and the gradient.
		source := random.New(1, "test/direction")
		direction, norm := make([]float32, len(theta)), 0.0
		for i := range direction {
			direction[i] = float32(source.NormFloat64())
			norm += float64(direction[i]) * float64(direction[i])
		}
		ahead, behind := make([]float32, len(theta)), make([]float32, len(theta))
		for i := range direction {
			direction[i] /= float32(math.Sqrt(norm))
			ahead[i], behind[i] = theta[i]+step*direction[i], theta[i]-step*direction[i]
		}
		arguments := append([]array{vector(theta), vector(ahead), vector(behind)}, data...)
		got := evaluate(t, b, arguments, func(in []*graph.Node) []*graph.Node {
			loss := func(parts []*graph.Node) *graph.Node {
				network := c.Network(parts, layers.Float32)
				r := graph.Sub(network.Velocity(network.Encode(in[3:4]), in[4], in[5]), in[6])
				return graph.ReduceAllSum(graph.Mul(r, r))
			}
			parts := velocity.Split(layout, in[0])
			plus, minus := loss(velocity.Split(layout, in[1])), loss(velocity.Split(layout, in[2]))
			return append([]*graph.Node{graph.Sub(plus, minus)}, graph.Gradient(loss(parts), parts...)...)
		})
		want, slope, i := float64(got[0][0])/(2*step), 0.0, 0
		for _, gradient := range got[1:] {
			for _, g := range gradient {
				slope += float64(g) * float64(direction[i])
				i++
			}
		}
		if !(math.Abs(slope-want) <= 0.02*math.Abs(want)) {
			t.Errorf("slope %g, by differences %g", slope, want)
		}
	}
	variants(t, check)
}
