package sensor_test

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"github.com/gomlx/gomlx/core/graph"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// golden is what testdata/golden.py writes.
type golden struct {
	Functions, Samples int
	Cases              []goldenCase
}

type goldenCase struct {
	Config    sensor.Config
	Names     []string
	Theta     []float32
	Probes    []float32
	X0, X1, T []float32
	Velocity  []float64
	Loss      float64
	Gradient  []float64
}

// PyTorch's layers with the same weights give the same velocity, loss and
// gradient, for every part of the networks; on XLA, which takes seconds to
// compile one, for both decoders.
func TestPyTorch(t *testing.T) {
	file, err := os.Open("testdata/golden.json.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.NewDecoder(text).Decode(&g); err != nil {
		t.Fatal(err)
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		cases := g.Cases
		if b.Name != backend.Go {
			cases = cases[:2]
		}
		for _, c := range cases {
			m := c.Config
			name := fmt.Sprintf("%s/%s/%s/%s", m.Representation, m.Aggregator, m.Conditioning, m.Decoder)
			t.Run(name, func(t *testing.T) { c.check(t, b, g.Functions, g.Samples) })
		}
	})
}

func (c goldenCase) check(t *testing.T, b *backend.Backend, functions, samples int) {
	m := c.Config
	if err := m.Validate(); err != nil {
		t.Fatal(err)
	}
	layout := m.Layout()
	if len(c.Names) != len(layout) || layout.Size() != len(c.Theta) {
		t.Fatalf("golden case is of another layout: %d tensors of %d values, want %d of %d", len(c.Names), len(c.Theta), len(layout), layout.Size())
	}
	for i, name := range c.Names {
		if layout[i].Name != name {
			t.Fatalf("tensor %d is %q, want %q", i, layout[i].Name, name)
		}
	}
	states := []int{functions, samples, m.Dim()}
	arguments := []array{
		vector(c.Theta), {c.Probes, []int{functions, m.Sensors, m.Steps, m.Features}},
		{c.X0, states}, {c.X1, states}, {c.T, []int{functions, samples}},
	}
	got := evaluate(t, b, arguments, func(in []*graph.Node) []*graph.Node {
		parts := velocity.Split(layout, in[0])
		network := m.Network(parts, layers.Float32)
		u := graph.Sub(in[3], in[2])
		x := graph.Add(in[2], graph.Mul(graph.ExpandAxes(in[4], -1), u))
		v := network.Velocity(network.Encode(in[1:2]), x, in[4])
		r := graph.Sub(v, u)
		loss := graph.ReduceAllSum(graph.Mul(r, r))
		return append([]*graph.Node{v, loss}, graph.Gradient(loss, parts...)...)
	})
	near(t, "velocity", got[0], c.Velocity)
	near(t, "loss", got[1], []float64{c.Loss})
	offsets := layout.Offsets()
	scale := 0.0
	for _, w := range c.Gradient {
		scale = max(scale, math.Abs(w))
	}
	for i, tensor := range layout {
		for j, w := range c.Gradient[offsets[i]:offsets[i+1]] {
			if d := math.Abs(float64(got[2+i][j]) - w); !(d <= 1e-5*scale) {
				t.Errorf("gradient of %s[%d] is %g, want %g; largest %g", tensor.Name, j, got[2+i][j], w, scale)
				break
			}
		}
	}
}

// near fails unless got is within 1e-5 of want, relative to want's largest element.
func near(t *testing.T, what string, got []float32, want []float64) {
	t.Helper()
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(w))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i])-w) <= 1e-5*scale) {
			t.Errorf("%s[%d] is %g, want %g; largest %g", what, i, got[i], w, scale)
		}
	}
}
