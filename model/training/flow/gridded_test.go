package flow_test

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// inPlane is a family of the plane by its formulas, on 17×17 nodes of [−2, 2]².
func inPlane(t *testing.T, drift, diffusion string) family.Family {
	t.Helper()
	f, err := family.ByName(`{"dim": 2, "name": "test", "grid": {"lo": -2, "hi": 2, "nodes": 17}, "drift": ` + drift + `, "diffusion": ` + diffusion + `}`)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// forces are the inputs [17, 17, 2] of function 0 of a family.
func forces(t *testing.T, f family.Family, probes *probe.Config) ([]float32, error) {
	t.Helper()
	input := velocity.Input{Name: "force", Shape: []int{17, 17, 2}}
	stored, err := flow.NewStored([]velocity.Input{input}, f.Fields(), flow.GridOf(f), shard.Normalisation{})
	if err != nil {
		t.Fatal(err)
	}
	var conditioner flow.Conditioner = stored
	if probes != nil {
		if conditioner, err = flow.NewGridded(stored, *probes, f, 1); err != nil {
			t.Fatal(err)
		}
	}
	function, err := f.Function(1, 0)
	if err != nil {
		t.Fatal(err)
	}
	inputs := [][]float32{nil}
	err = conditioner.Condition(t.Context(), inputs, []flow.Subject{{Function: family.Function{Fields: function.Fields}}})
	return inputs[0], err
}

// A reversible equation b = ½(∇·D − D∇U) has the force −∇U, whatever its noise: constant, scalar,
// diagonal, a full matrix.
func TestForce(t *testing.T) {
	// U = x² + xy + 2y²; ∇U = (2x + y, x + 4y).
	for _, c := range []struct{ name, drift, diffusion string }{
		{"constant", `["-0.25*(2*x + y)/2", "-0.25*(x + 4*y)/2"]`, `"0.5"`},
		{"scalar", `["(0.2*(1 + 0.1*x) - (1 + 0.1*x)^2*(2*x + y))/2", "-(1 + 0.1*x)^2*(x + 4*y)/2"]`, `"1 + 0.1*x"`},
		{"diagonal", `["-(2*x + y)/2*(1 + 0.1*y)^2", "-4*(x + 4*y)/2"]`, `["1 + 0.1*y", "2"]`},
		{"full", `["-(2*(2*x + y) + 1*(x + 4*y))/2", "-(1*(2*x + y) + 1*(x + 4*y))/2"]`, `["1", "1", "0", "1"]`},
	} {
		got, err := forces(t, inPlane(t, c.drift, c.diffusion), nil)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		grid := sde.Grid{Lo: -2, Hi: 2, N: 17}
		for j := 1; j+1 < grid.N; j++ { // differences at the ends are one-sided
			for i := 1; i+1 < grid.N; i++ {
				x, y := grid.At(i), grid.At(j)
				for k, want := range []float64{-(2*x + y), -(x + 4*y)} {
					if f := float64(got[2*(j*grid.N+i)+k]); !(math.Abs(f-math.Asinh(want)) < 1e-4) {
						t.Fatalf("%s at (%g, %g): number %d is %g, want %g", c.name, x, y, k, f, math.Asinh(want))
					}
				}
			}
		}
	}
}

func TestForceNeedsNoise(t *testing.T) {
	if _, err := forces(t, inPlane(t, `["y", "-x - y"]`, `["0", "1"]`), nil); err == nil || !strings.Contains(err.Error(), "function 0: force: the noise at node 0 is in one direction") {
		t.Errorf("noise in one direction: %v", err)
	}
}

// What probes show of an equation at the nodes is what is stored, where drift and noise are
// smooth. The network sees the probes alone: other probes of an equation give other inputs.
func TestGridded(t *testing.T) {
	f := inPlane(t, `["-x + y/2", "-y - x/2"]`, `["1 + 0.2*x", "1"]`)
	want, err := forces(t, f, nil)
	if err != nil {
		t.Fatal(err)
	}
	var last []float32
	for _, sensors := range []int{32, 64} {
		got, err := forces(t, f, &probe.Config{Kind: probe.Trajectory, Sensors: sensors, Steps: 20, DT: 0.01})
		if err != nil {
			t.Fatal(err)
		}
		for k := range want {
			if !(math.Abs(float64(got[k]-want[k])) < 2e-2) {
				t.Fatalf("%d sensors: number %d is %g, want %g", sensors, k, got[k], want[k])
			}
		}
		if slices.Equal(got, want) || slices.Equal(got, last) {
			t.Errorf("%d sensors: the inputs do not depend on the probes", sensors)
		}
		last = got
	}
}

func TestGriddedRefuses(t *testing.T) {
	plane := inPlane(t, `["-x", "-y"]`, `"1"`)
	trajectories := probe.Config{Kind: probe.Trajectory, Sensors: 4, Steps: 4, DT: 0.01}
	line, err := family.ByName("vn1d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flow.NewGridded(nil, trajectories, line, 1); !errors.Is(err, flow.ErrNoGrid) {
		t.Errorf("a line: %v", err)
	}
	if _, err := flow.NewGridded(nil, probe.Config{Kind: probe.Pairs, Sensors: 4, Steps: 4, DT: 0.01}, plane, 1); err == nil || !strings.Contains(err.Error(), "probes of kind pairs give no coefficients at nodes") {
		t.Errorf("pairs: %v", err)
	}
	trajectories.Sensors = 0
	if _, err := flow.NewGridded(nil, trajectories, plane, 1); err == nil {
		t.Error("no sensors are accepted")
	}
}
