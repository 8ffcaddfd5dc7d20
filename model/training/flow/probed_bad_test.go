package flow_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Probes do not depend on the number of threads, and a single sensor is the first of
// many.
func TestProbedIsAFunctionOfTheSubject(t *testing.T) {
	for name, c := range map[string]probe.Config{
		"cn2d":         {Kind: probe.Walk, Sensors: 24, Steps: 5, DT: 0.0025},
		"particles64d": {Kind: probe.Pairs, Sensors: 24, Steps: 5, DT: 0.001},
	} {
		p, f := probed(t, name, c, probe.OverRows)
		subjects := []flow.Subject{{Index: 3}, {Index: 40}, {Index: 4}}
		want, alone, first := [][]float32{nil}, [][]float32{nil}, [][]float32{nil}
		if err := p.Condition(t.Context(), want, subjects); err != nil {
			t.Fatal(err)
		}
		threads := runtime.GOMAXPROCS(1)
		err := p.Condition(t.Context(), alone, subjects)
		runtime.GOMAXPROCS(threads)
		if err != nil || !slices.Equal(alone[0], want[0]) {
			t.Errorf("%s: other probes on one thread, error %v", name, err)
		}
		standards, err := flow.Standards(t.Context(), c, f, 1, numbers(50), probe.OverRows, flow.Raw)
		if err != nil {
			t.Fatal(err)
		}
		one := c
		one.Sensors = 1
		single, err := flow.NewProbed(inputOf(one), one, f, 1, standards, flow.Raw)
		if err != nil {
			t.Fatal(err)
		}
		if err := single.Condition(t.Context(), first, subjects[1:2]); err != nil || !slices.Equal(first[0], want[0][c.Size():][:one.Size()]) {
			t.Errorf("%s: one sensor is not the first of many, error %v", name, err)
		}
	}
}

// Probes beyond the grid have the coefficients at its boundary. Equations that explode,
// have no noise or are not finite are refused, with the function's number.
func TestProbedRefusesEquations(t *testing.T) {
	p, _ := probed(t, "cn2d", probe.Config{Kind: probe.Trajectory, Sensors: 24, Steps: 5, DT: 0.01}, probe.OverRows)
	grid := sde.Grid{Lo: -1, Hi: 1, N: 4}
	plane := func(drift, sigma float32) flow.Subject {
		return flow.Subject{Index: 9, Function: family.Function{System: sde.Plane{
			X: grid, Y: grid, Drift: slices.Repeat([]float32{drift}, 32), Diffusion: []float32{sigma},
		}}}
	}
	inputs := [][]float32{nil}
	if err := p.Condition(t.Context(), inputs, []flow.Subject{plane(400, 1)}); err != nil { // four units a step, out of a grid of two
		t.Fatal(err)
	}
	for _, v := range inputs[0] {
		if v-v != 0 {
			t.Fatal("a probe outside the grid is not finite")
		}
	}
	for name, c := range map[string]struct {
		subject flow.Subject
		is      error
		says    string
	}{
		"explosion":   {plane(1e30, 1), probe.ErrDiverged, ""},
		"no noise":    {plane(1, 0), nil, "is zero"},
		"not finite":  {plane(float32(math.NaN()), 1), sde.ErrNotFinite, ""},
		"short field": {flow.Subject{Index: 9, Function: family.Function{Fields: [][]float32{{1, 2}}}}, nil, "drift has 2 values"},
		"particles": {flow.Subject{Index: 9, Function: family.Function{
			System: sde.Particles{N: 2, Noise: 1, Force: sde.Tabulate(func(float64) float64 { return 0 }, 0, 1)},
		}}, probe.ErrSystem, ""},
	} {
		err := p.Condition(t.Context(), [][]float32{nil}, []flow.Subject{{Index: 1}, c.subject})
		if err == nil || c.is != nil && !errors.Is(err, c.is) || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "function 9") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// The paper's batch of cn2d: 512 functions with 256 sensors and 20 rows each, from
// stored fields.
func BenchmarkProbed512(b *testing.B) {
	c := probe.Config{Kind: probe.Trajectory, Sensors: 256, Steps: 20, DT: 0.01}
	p, f := probed(b, "cn2d", c, probe.OverRows)
	var subjects []flow.Subject
	for i := range 512 {
		made, err := f.Function(1, i)
		if err != nil {
			b.Fatal(err)
		}
		subjects = append(subjects, flow.Subject{Index: i, Function: family.Function{Fields: made.Fields}})
	}
	inputs := [][]float32{nil}
	for b.Loop() {
		inputs[0] = inputs[0][:0]
		if err := p.Condition(b.Context(), inputs, subjects); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(512*256*20*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}
