package flow_test

import (
	"errors"
	"math"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// nodes of the line on which fields are derived.
var nodes = sde.Grid{Lo: -4, Hi: 4, N: 33}

func onLine(names ...string) (inputs []velocity.Input) {
	for _, name := range names {
		inputs = append(inputs, velocity.Input{Name: name, Shape: []int{nodes.N}})
	}
	return inputs
}

var lineFields = []family.Field{{Name: "drift", Shape: []int{nodes.N}}, {Name: "diffusion", Shape: []int{nodes.N}}}

// condition makes the inputs of one function with drift b and diffusion σ.
func condition(t *testing.T, inputs []velocity.Input, b, sigma func(float64) float64) ([][]float32, error) {
	t.Helper()
	conditioner, err := flow.NewStored(inputs, lineFields, flow.Grid{Grid: nodes}, shard.Normalisation{"diffusion": {Mean: 1, Std: 2}})
	if err != nil {
		t.Fatal(err)
	}
	fields := [][]float32{make([]float32, nodes.N), make([]float32, nodes.N)}
	for i := range nodes.N {
		fields[0][i], fields[1][i] = float32(b(nodes.At(i))), float32(sigma(nodes.At(i)))
	}
	values := make([][]float32, len(inputs))
	err = conditioner.Condition(t.Context(), values, []flow.Subject{{Index: 7, Function: family.Function{Fields: fields}}})
	return values, err
}

// The process dX = −θX dt + s·dW has U = θx²/s² and (log p)′ = −2θx/s². Stored fields
// stay the same beside derived ones.
func TestDerivedFields(t *testing.T) {
	for _, theta := range []float64{0.25, 1, 60} {
		const s = 1.5
		values, err := condition(t, onLine("potential", "diffusion", "score"),
			func(x float64) float64 { return -theta * x }, func(float64) float64 { return s })
		if err != nil {
			t.Fatal(err)
		}
		for i := range nodes.N {
			x := nodes.At(i)
			for k, want := range []float64{math.Log1p(theta*x*x/(s*s))/2 - 1, (s - 1) / 2, math.Asinh(-2*theta*x/(s*s)) / 4} {
				if got := float64(values[k][i]); !(math.Abs(got-want) <= 1e-5) {
					t.Errorf("θ = %g, x = %g: input %d is %g, want %g", theta, x, k, got, want)
				}
			}
		}
	}
}

// Equations with the same law, b = ½σ²(log p)′ + σσ′ for any σ, have the same potential
// and score, up to the error of the grid.
func TestDerivedFieldsAreOfTheLaw(t *testing.T) {
	score := func(x float64) float64 { return -x * x * x / 4 }
	sigma := func(x float64) float64 { return 1 + 0.3*math.Sin(x) }
	slope := func(x float64) float64 { return 0.3 * math.Cos(x) }
	one, err := condition(t, onLine("potential", "score"),
		func(x float64) float64 { return score(x) / 2 }, func(float64) float64 { return 1 })
	if err != nil {
		t.Fatal(err)
	}
	other, err := condition(t, onLine("potential", "score"),
		func(x float64) float64 { return sigma(x)*sigma(x)*score(x)/2 + sigma(x)*slope(x) }, sigma)
	if err != nil {
		t.Fatal(err)
	}
	for k := range one {
		for i := 1; i < nodes.N-1; i++ { // one-sided differences of σ at the ends
			if !(math.Abs(float64(one[k][i]-other[k][i])) <= 0.01) {
				t.Errorf("input %d at %g: %g and %g", k, nodes.At(i), one[k][i], other[k][i])
			}
		}
	}
}

func TestDerivedFieldsRefuse(t *testing.T) {
	for want, construct := range map[string]func() error{
		`"potential" is no stored field`: func() error {
			_, err := flow.NewStored(onLine("potential"), lineFields, flow.Grid{}, nil)
			return err
		},
		`"entropy" is no stored field`: func() error {
			_, err := flow.NewStored(onLine("entropy"), lineFields, flow.Grid{Grid: nodes}, nil)
			return err
		},
		`"potential" has shape [32], the derived field [33]`: func() error {
			_, err := flow.NewStored([]velocity.Input{{Name: "potential", Shape: []int{32}}}, lineFields, flow.Grid{Grid: nodes}, nil)
			return err
		},
		"function 3: potential: it follows from drift and diffusion": func() error {
			conditioner, err := flow.NewStored(onLine("potential"), lineFields, flow.Grid{Grid: nodes}, nil)
			if err != nil {
				return err
			}
			return conditioner.Condition(t.Context(), [][]float32{nil}, []flow.Subject{{Index: 3}})
		},
	} {
		if err := construct(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for _, name := range []string{"potential", "score"} {
		_, err := condition(t, onLine(name), math.Log, func(float64) float64 { return 1 }) // NaN below 0
		if !errors.Is(err, sde.ErrNotFinite) || !strings.Contains(err.Error(), "function 7: "+name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
