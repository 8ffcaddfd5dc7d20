package deeponet_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"testing"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// golden is what testdata/golden.py writes.
type golden struct {
	Config             deeponet.Config
	Functions, Samples int
	Names              []string
	Theta              []float32
	Inputs             [][]float32
	X0, X1, T          []float32
	Velocity           []float64
	Loss               float64
	Gradient           []float64
}

func readGolden(t *testing.T, name string) golden {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".json")
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
	for name, test := range map[string]struct {
		config deeponet.Config
		want   int
	}{
		"vn1d":       {deeponet.Paper(64), 940_928},
		"rare1d":     {deeponet.Paper(256), 2_513_792},
		"cn2d, grid": {deeponet.PaperPlane(32), 971_808},
	} {
		config := test.config
		if err := config.Validate(); err != nil {
			t.Fatal(err)
		}
		if err := config.Layout().Validate(); err != nil {
			t.Error(err)
		}
		if got := config.Layout().Size(); got != test.want {
			t.Errorf("%s: %d parameters, want %d", name, got, test.want)
		}
		total := 0
		for _, layer := range config.Summary() {
			total += layer.Parameters
		}
		if total != test.want {
			t.Errorf("%s: the summary counts %d parameters, want %d", name, total, test.want)
		}
	}
}

// The operations of a step, counted by hand: 14.5 GFLOP on the line, 66 in the
// plane.
func TestFLOPs(t *testing.T) {
	trunk := float64(65*256 + 3*256*256 + 256*128)
	branch := float64(5120 + 163840 + 327680 + 1024*256 + 256*128)
	want := 6 * (8192*trunk + 2*256*branch)
	if got := deeponet.Paper(64).FLOPs(256, 256*32); got != want {
		t.Errorf("%g operations, want %g", got, want)
	}
	trunk = float64(98*256 + 3*256*256 + 256*256)
	branch = float64(16*16*9*2*32 + 8*8*9*32*64 + 4*4*9*64*128 + 2048*256 + 256*256)
	want = 6 * (32768*trunk + 512*branch)
	if got := deeponet.PaperPlane(32).FLOPs(512, 512*64); got != want {
		t.Errorf("%g operations in the plane, want %g", got, want)
	}
}

// PyTorch's layers with the same weights give the same velocity, loss and
// gradient, on the line and in the plane. Grids have odd and even numbers of
// nodes, so padding is tested too.
func TestPyTorch(t *testing.T) {
	for _, name := range []string{"line", "plane", "numbers"} {
		t.Run(name, func(t *testing.T) { comparePyTorch(t, readGolden(t, name)) })
	}
}

func comparePyTorch(t *testing.T, g golden) {
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
		states := backend.Shape(n, s, g.Config.Dim())
		inputs := []shapes.Shape{backend.Shape(len(g.Theta)), states, states, backend.Shape(n, s)}
		for _, input := range g.Config.Inputs() {
			inputs = append(inputs, backend.Shape(append([]int{n}, input.Shape...)...))
		}
		program, err := b.Compile("golden", inputs, func(in []*graph.Node) []*graph.Node {
			theta, x0, x1, time := in[0], in[1], in[2], in[3]
			parts := velocity.Split(layout, theta)
			network := g.Config.Network(parts, layers.Float32)
			u := graph.Sub(x1, x0)
			v := network.Velocity(network.Encode(in[4:]), graph.Add(x0, graph.Mul(graph.ExpandAxes(time, -1), u)), time)
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
		outputs := backendtest.Run(t, b, program, append([][]float32{g.Theta, g.X0, g.X1, g.T}, g.Inputs...)...)
		for i, want := range [][]float64{g.Velocity, {g.Loss}, g.Gradient} {
			got := outputs[i]
			scale := 0.0
			for _, w := range want {
				scale = max(scale, math.Abs(w))
			}
			for j, w := range want {
				if !(math.Abs(float64(got[j])-w) <= 2e-6*scale) {
					t.Errorf("output %d element %d is %g, want %g", i, j, got[j], w)
				}
			}
		}
	})
}

func TestValidate(t *testing.T) {
	for name, spoil := range map[string]func(*deeponet.Config){
		"no grid":            func(c *deeponet.Config) { c.Fields[0].Shape = nil },
		"one node":           func(c *deeponet.Config) { c.Fields[1].Shape = []int{1, 8, 1} },
		"only numbers":       func(c *deeponet.Config) { c.Fields[0].Shape, c.Fields[1].Shape = []int{1}, []int{1} },
		"grid of two axes":   func(c *deeponet.Config) { c.Fields[1].Shape = []int{8, 8} },
		"huge grid":          func(c *deeponet.Config) { c.Fields[1].Shape = []int{1 << 20, 8, 1} },
		"nothing at a node":  func(c *deeponet.Config) { c.Fields[1].Shape = []int{8, 8, 0} },
		"no fields":          func(c *deeponet.Config) { c.Fields = nil },
		"field twice":        func(c *deeponet.Config) { c.Fields[1].Name = "drift" },
		"field named trunk":  func(c *deeponet.Config) { c.Fields[1].Name = "trunk" },
		"no dimension":       func(c *deeponet.Config) { c.Dimension = 0 },
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

// One time for all samples of a function, as an ODE solver has, gives the velocities
// for that time for each sample.
func TestOneTimeForAll(t *testing.T) {
	for _, name := range []string{"line", "plane", "numbers"} {
		g := readGolden(t, name)
		b := backendtest.Fast(t)
		n, s, d := g.Functions, g.Samples, g.Config.Dim()
		inputs := []shapes.Shape{backend.Shape(len(g.Theta)), backend.Shape(n, s, d), backend.Shape(n, 1)}
		for _, input := range g.Config.Inputs() {
			inputs = append(inputs, backend.Shape(append([]int{n}, input.Shape...)...))
		}
		program, err := b.Compile("times", inputs, func(in []*graph.Node) []*graph.Node {
			theta, x, time := in[0], in[1], in[2]
			network := g.Config.Network(velocity.Split(g.Config.Layout(), theta), layers.Float32)
			code, each := network.Encode(in[3:]), graph.BroadcastToDims(time, n, s)
			return []*graph.Node{network.Velocity(code, x, time), network.Velocity(code, x, each)}
		})
		if err != nil {
			t.Fatal(err)
		}
		defer program.Close()
		var buffers []backend.Buffer
		defer func() { backend.Free(buffers...) }()
		for i, values := range append([][]float32{g.Theta, g.X0, g.T[:n]}, g.Inputs...) {
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
		one, each := make([]float32, n*s*d), make([]float32, n*s*d)
		if err := errors.Join(backend.Download(one, outputs[0]), backend.Download(each, outputs[1])); err != nil {
			t.Fatal(err)
		}
		for i := range one {
			if !(math.Abs(float64(one[i]-each[i])) <= 1e-5*(1+math.Abs(float64(each[i])))) {
				t.Errorf("%s: element %d is %v with one time and %v with each", name, i, one[i], each[i])
			}
		}
	}
}
