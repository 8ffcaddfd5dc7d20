package deeponet_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/network/deeponet"
)

// The processor alone gives PyTorch's velocities, for one function and for several at once.
func TestHostPyTorch(t *testing.T) {
	for _, name := range []string{"line", "numbers"} {
		t.Run(name, func(t *testing.T) {
			g := readGolden(t, name)
			host, err := deeponet.NewHost(g.Config, g.Theta)
			if err != nil {
				t.Fatal(err)
			}
			together, err := host.Encode(g.Inputs, g.Functions)
			if err != nil {
				t.Fatal(err)
			}
			for i := range g.Functions {
				var inputs [][]float32
				for k, f := range g.Config.Fields {
					inputs = append(inputs, g.Inputs[k][i*f.Size():(i+1)*f.Size()])
				}
				code, err := host.Encode(inputs, 1)
				if err != nil {
					t.Fatal(err)
				}
				for k, v := range together[i*host.CodeSize() : (i+1)*host.CodeSize()] {
					if !(math.Abs(float64(v-code[k])) <= 1e-6) {
						t.Fatalf("function %d: number %d of the code is %g beside others, %g alone", i, k, v, code[k])
					}
				}
				for j := i * g.Samples; j < (i+1)*g.Samples; j++ {
					v := make([]float32, 1)
					host.Velocity(v, code, []float32{g.X0[j] + g.T[j]*(g.X1[j]-g.X0[j])}, float64(g.T[j]))
					if want := g.Velocity[j]; !(math.Abs(float64(v[0])-want) <= 2e-5*max(1, math.Abs(want))) {
						t.Fatalf("function %d: velocity %d is %g, want %g", i, j, v[0], want)
					}
				}
			}
		})
	}
}

func TestHostRefuses(t *testing.T) {
	plane := deeponet.PaperPlane(8)
	if _, err := deeponet.NewHost(plane, make([]float32, plane.Layout().Size())); !errors.Is(err, deeponet.ErrHost) {
		t.Errorf("a network in the plane: %v", err)
	}
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
		if _, err := host.Encode(inputs, 1); err == nil {
			t.Errorf("%s is accepted", name)
		}
	}
}
