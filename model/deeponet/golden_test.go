package deeponet_test

import (
	"encoding/json"
	"math"
	"os"
	"testing"

	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/deeponet"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// golden is what testdata/golden.py writes.
type golden struct {
	Config             deeponet.Config
	Functions, Samples int
	Names              []string
	Theta              []float32
	Drift, Diffusion   []float32
	X0, X1, T          []float32
	Velocity           []float64
	Loss               float64
	Gradient           []float64
}

func readGolden(t *testing.T) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/golden.json")
	if err != nil {
		t.Fatal(err)
	}
	var g golden
	if err := json.Unmarshal(text, &g); err != nil {
		t.Fatal(err)
	}
	return g
}

func TestParameterCounts(t *testing.T) {
	for _, test := range []struct {
		grid, want int
	}{{64, 940_928}, {256, 2_513_792}} {
		config := deeponet.Paper(test.grid)
		if err := config.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := config.Layout().Validate(); err != nil {
			t.Error(err)
		}
		if got := config.Layout().Size(); got != test.want {
			t.Errorf("grid of %d: %d parameters, want %d", test.grid, got, test.want)
		}
		total := 0
		for _, layer := range config.Summary() {
			total += layer.Parameters
		}
		if total != test.want {
			t.Errorf("grid of %d: the summary counts %d parameters, want %d", test.grid, total, test.want)
		}
	}
}

// The operations of a step, counted by hand: 14.5 and 21.5 GFLOP.
func TestFLOPs(t *testing.T) {
	trunk := float64(65*256 + 3*256*256 + 256*128)
	branch := float64(5120 + 163840 + 327680 + 1024*256 + 256*128)
	want := 6 * (8192*trunk + 2*256*branch)
	if got := deeponet.Paper(64).FLOPs(256, 32); got != want {
		t.Errorf("%g operations, want %g", got, want)
	}
}

// PyTorch's layers with the same weights give the same velocity, loss and
// gradient. The grid has an odd number of nodes, so padding is tested too.
func TestPyTorch(t *testing.T) {
	g := readGolden(t)
	layout := g.Config.Layout()
	if len(g.Names) != len(layout) || layout.Size() != len(g.Theta) {
		t.Fatalf("golden file is of another layout: %d tensors of %d values", len(g.Names), len(g.Theta))
	}
	for i, name := range g.Names {
		if layout[i].Name != name {
			t.Fatalf("tensor %d is %q, want %q", i, layout[i].Name, name)
		}
	}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		n, s := g.Functions, g.Samples
		coefficients, states := backend.Shape(n, g.Config.Grid), backend.Shape(n, s)
		inputs := []shapes.Shape{backend.Shape(len(g.Theta)), coefficients, coefficients, states, states, states}
		program, err := b.Compile("golden", inputs, func(in []*graph.Node) []*graph.Node {
			parts := g.Config.Split(in[0])
			network := g.Config.Network(parts)
			u := graph.Sub(in[4], in[3])
			v := network.Velocity(network.Encode(in[1], in[2]), graph.Add(in[3], graph.Mul(in[5], u)), in[5])
			r := graph.Sub(v, u)
			loss := graph.ReduceAllSum(graph.Mul(r, r))
			flat := []*graph.Node{}
			for _, d := range graph.Gradient(loss, parts...) {
				flat = append(flat, graph.Reshape(d, -1))
			}
			return []*graph.Node{v, loss, graph.Concatenate(flat, 0)}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		var buffers []backend.Buffer
		defer func() { backend.Free(buffers...) }()
		for i, values := range [][]float32{g.Theta, g.Drift, g.Diffusion, g.X0, g.X1, g.T} {
			buffer, err := b.Upload(values, inputs[i].Dimensions...)
			if err != nil {
				t.Fatal(err)
			}
			buffers = append(buffers, buffer)
		}
		outputs, err := program.Run(buffers...)
		if err != nil {
			t.Fatal(err)
		}
		buffers = append(buffers, outputs...)
		for i, want := range [][]float64{g.Velocity, {g.Loss}, g.Gradient} {
			got := make([]float32, len(want))
			if err := backend.Download(got, outputs[i]); err != nil {
				t.Fatal(err)
			}
			scale := 0.0
			for _, w := range want {
				scale = max(scale, math.Abs(w))
			}
			for j, w := range want {
				if math.Abs(float64(got[j])-w) > 2e-6*scale {
					t.Errorf("output %d element %d is %g, want %g", i, j, got[j], w)
				}
			}
		}
	})
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*deeponet.Config){
		"no grid":            func(c *deeponet.Config) { c.Grid = 0 },
		"even kernel":        func(c *deeponet.Config) { c.Kernel = 4 },
		"odd embedding":      func(c *deeponet.Config) { c.TimeEmbedding = 31 },
		"no channels":        func(c *deeponet.Config) { c.Channels = nil },
		"negative channel":   func(c *deeponet.Config) { c.Channels = []int{32, -1, 128} },
		"huge width":         func(c *deeponet.Config) { c.TrunkWidth = 1 << 20 },
		"zero frequency":     func(c *deeponet.Config) { c.FMin = 0 },
		"frequencies turned": func(c *deeponet.Config) { c.FMin, c.FMax = 16, .5 },
		"frequency NaN":      func(c *deeponet.Config) { c.FMax = math.NaN() },
	} {
		config := deeponet.Paper(64)
		spoil(&config)
		if config.Validate() == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}
