package flow_test

import (
	"context"
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

// probed is a conditioner with standards over 50 functions of the family.
func probed(t testing.TB, name string, c probe.Config, scale probe.Scale) (*flow.Probed, family.Family) {
	t.Helper()
	f, err := family.ByName(name)
	if err != nil {
		t.Fatal(err)
	}
	standards, err := flow.Standards(t.Context(), c, f, 1, numbers(50), scale, flow.Raw)
	if err != nil {
		t.Fatal(err)
	}
	p, err := flow.NewProbed(inputOf(c), c, f, 1, standards, flow.Raw)
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// numbers are 0 … n−1.
func numbers(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i
	}
	return all
}

// inputOf is the network's input for these probes.
func inputOf(c probe.Config) velocity.Input { return velocity.Input{Name: "probes", Shape: c.Shape()} }

// A function's probes depend neither on the source of its equation nor on the other
// functions. Over the functions of the standards every feature has mean 0, and every
// feature that varies has deviation 1. The deviation is larger for a scale that counts
// only differences between functions, if most of the feature is common to all, as
// cn2d's well is.
func TestProbed(t *testing.T) {
	trajectories := probe.Config{Kind: probe.Trajectory, Sensors: 40, Steps: 20, DT: 0.01}
	pairs := probe.Config{Kind: probe.Pairs, Sensors: 40, Steps: 20, DT: 0.001}
	for _, of := range []struct {
		name  string
		c     probe.Config
		scale probe.Scale
	}{
		{"cn2d", trajectories, probe.OverRows},
		{"cn2d", trajectories, probe.BetweenFunctions},
		{"particles64d", pairs, probe.OverRows},
		{"particles64d", pairs, probe.BetweenFunctions},
	} {
		name, c := of.name, of.c
		p, f := probed(t, name, c, of.scale)
		var all []flow.Subject
		for i := range 50 {
			all = append(all, flow.Subject{Index: i})
		}
		inputs := [][]float32{{42}}
		if err := p.Condition(t.Context(), inputs, all); err != nil {
			t.Fatal(err)
		}
		if inputs[0][0] != 42 || len(inputs[0]) != 1+50*c.Size() {
			t.Fatalf("%s: %d values, the first %v", name, len(inputs[0]), inputs[0][0])
		}
		values := inputs[0][1:]
		for k := range c.Features() {
			var sum, square float64
			for i := k; i < len(values); i += c.Features() {
				sum += float64(values[i])
				square += float64(values[i]) * float64(values[i])
			}
			n := float64(len(values) / c.Features())
			within := math.Abs(square/n-1) < 1e-4
			switch {
			case name == "cn2d" && k >= 4: // constant
				within = square/n < 1e-9
			case name == "cn2d" && k >= 2 && of.scale == probe.BetweenFunctions: // the well, of deviation 8.6
				within = square/n > 50 && square/n < 100
			}
			if !(math.Abs(sum/n) <= 1e-4) || !within {
				t.Errorf("%s: feature %d has mean %.3g and mean square %.5g", name, k, sum/n, square/n)
			}
		}
		function, err := f.Function(1, 7)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range []flow.Subject{
			{Index: 7}, {Index: 7, Function: function}, {Index: 7, Function: family.Function{Fields: function.Fields}},
		} {
			one := [][]float32{nil}
			if err := p.Condition(t.Context(), one, []flow.Subject{s}); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(one[0], values[7*c.Size():8*c.Size()]) {
				t.Errorf("%s: function 7 alone differs", name)
			}
		}
	}
}

func TestProbedRefusals(t *testing.T) {
	c := probe.Config{Kind: probe.Walk, Sensors: 4, Steps: 5, DT: 0.0025}
	p, f := probed(t, "cn2d", c, probe.BetweenFunctions)
	broken := make([]float32, 2*32*32)
	broken[5] = float32(math.NaN())
	err := p.Condition(t.Context(), [][]float32{nil}, []flow.Subject{{Index: 17, Function: family.Function{Fields: [][]float32{broken}}}})
	if !errors.Is(err, sde.ErrNotFinite) || !strings.Contains(err.Error(), "function 17") {
		t.Errorf("broken field: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := p.Condition(ctx, [][]float32{nil}, []flow.Subject{{Index: 1}}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	standards := make([]shard.Standard, 8)
	for name, c := range map[string]struct {
		shape     []int
		config    probe.Config
		standards []shard.Standard
		want      string
	}{
		"shape":     {[]int{5, 5, 8}, c, standards, `input "probes" has shape [5 5 8], the probes [4 5 8]`},
		"standards": {[]int{4, 5, 8}, c, standards[1:], "7 standards for probes of 8 features"},
		"config":    {[]int{4, 0, 8}, probe.Config{Kind: probe.Walk, Sensors: 4, DT: 1}, standards, "steps"},
	} {
		if _, err := flow.NewProbed(velocity.Input{Name: "probes", Shape: c.shape}, c.config, f, 1, c.standards, flow.Raw); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
	}
	line, err := family.ByName("vn1d")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flow.Standards(t.Context(), c, line, 1, numbers(3), probe.OverRows, flow.Raw); !errors.Is(err, probe.ErrSystem) {
		t.Errorf("probes on the line: %v", err)
	}
}
