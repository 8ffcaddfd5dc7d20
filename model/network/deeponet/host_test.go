package deeponet_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/layers"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// The processor alone gives PyTorch's velocities, for one function and for several at once.
func TestHostPyTorch(t *testing.T) {
	for _, name := range []string{"line", "numbers", "plane"} {
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, name)
			host, err := deeponet.NewHost(g.Config, g.Theta)
			if err != nil {
				t.Fatal(err)
			}
			together, err := host.Encode(t.Context(), g.Inputs, g.Functions)
			if err != nil {
				t.Fatal(err)
			}
			d := g.Config.Dim()
			for i := range g.Functions {
				var inputs [][]float32
				for k, f := range g.Config.Fields {
					inputs = append(inputs, g.Inputs[k][i*f.Size():(i+1)*f.Size()])
				}
				code, err := host.Encode(t.Context(), inputs, 1)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range together[i*host.CodeSize() : (i+1)*host.CodeSize()] {
					if !(math.Abs(float64(v-code[k])) <= 1e-6) {
						t.Fatalf("function %d: number %d of the code is %g beside others, %g alone", i, k, v, code[k])
					}
				}
				for j := i * g.Samples; j < (i+1)*g.Samples; j++ {
					v, x := make([]float32, d), make([]float32, d)
					for k := range x {
						x[k] = g.X0[j*d+k] + g.T[j]*(g.X1[j*d+k]-g.X0[j*d+k])
					}
					host.At(code, float64(g.T[j]))(v, x)
					for k, got := range v {
						if want := g.Velocity[j*d+k]; !(math.Abs(float64(got)-want) <= 2e-5*max(1, math.Abs(want))) {
							t.Fatalf("function %d: number %d of velocity %d is %g, want %g", i, k, j, got, want)
						}
					}
				}
			}
		})
	}
}

// The processor alone gives the velocities of the network's graph, at more states than a block
// has.
func TestHostNetwork(t *testing.T) {
	const functions, samples, time = 3, 500, 0.3
	for name, c := range map[string]deeponet.Config{"line": deeponet.Paper(16), "plane": deeponet.PaperPlane(9)} {
		t.Run(name, func(t *testing.T) {
			source := random.New(1, "test/host", uint64(c.Dim()))
			normal := func(n int) []float32 {
				x := make([]float32, n)
				for i := range x {
					x[i] = float32(source.NormFloat64())
				}
				return x
			}
			theta := c.Layout().Initialise(1)
			arguments, values := []shapes.Shape{backend.Shape(len(theta))}, [][]float32{theta}
			for _, f := range c.Fields {
				arguments = append(arguments, backend.Shape(append([]int{functions}, f.Shape...)...))
				values = append(values, normal(functions*f.Size()))
			}
			x := normal(functions * samples * c.Dim())
			arguments = append(arguments, backend.Shape(functions, samples, c.Dim()), backend.Shape(functions, 1))
			values = append(values, x, []float32{time, time, time})
			b, err := backend.Open(backend.Go)
			if err != nil {
				t.Fatal(err)
			}
			defer b.Close()
			program, err := b.Compile(t.Name(), arguments, func(in []*graph.Node) []*graph.Node {
				n := c.Network(velocity.Split(c.Layout(), in[0]), layers.Float32)
				return []*graph.Node{n.Velocity(n.Encode(in[1:len(in)-2]), in[len(in)-2], in[len(in)-1])}
			})
			if err != nil {
				t.Fatal(err)
			}
			defer program.Close()
			want := backendtest.Run(t, b, program, values...)[0]

			host, err := deeponet.NewHost(c, theta)
			if err != nil {
				t.Fatal(err)
			}
			codes, err := host.Encode(t.Context(), values[1:len(values)-2], functions)
			if err != nil {
				t.Fatal(err)
			}
			got, size := make([]float32, len(x)), samples*c.Dim()
			for i := range functions {
				host.At(codes[i*host.CodeSize():(i+1)*host.CodeSize()], time)(got[i*size:(i+1)*size], x[i*size:(i+1)*size])
			}
			for i, w := range want {
				if !(math.Abs(float64(got[i]-w)) <= 2e-5*max(1, math.Abs(float64(w)))) {
					t.Fatalf("velocity %d is %g, want %g", i, got[i], w)
				}
			}
		})
	}
}

func TestHostRefuses(t *testing.T) {
	line := deeponet.Paper(16)
	if _, err := deeponet.NewHost(line, make([]float32, 7)); err == nil {
		t.Error("7 parameters are accepted")
	}
	host, err := deeponet.NewHost(line, make([]float32, line.Layout().Size()))
	if err != nil {
		t.Fatal(err)
	}
	for name, inputs := range map[string][][]float32{
		"one field":  {make([]float32, 16)},
		"other grid": {make([]float32, 16), make([]float32, 17)},
	} {
		if _, err := host.Encode(t.Context(), inputs, 1); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := host.Encode(cancelled, [][]float32{make([]float32, 16), make([]float32, 16)}, 1); !errors.Is(err, context.Canceled) {
		t.Errorf("after cancellation: %v", err)
	}
}
