package sampler_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/parameters"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/state"
)

const nodes = 16

var small = deeponet.Config{
	Dimension: 1, Fields: []velocity.Input{{Name: "drift", Shape: []int{nodes}}, {Name: "diffusion", Shape: []int{nodes}}},
	Rank: 4, Channels: []int{4, 4}, Kernel: 3, Hidden: 8, TrunkWidth: 16, TrunkDepth: 2,
	TimeEmbedding: 4, StateEmbedding: 4, FMin: .5, FMax: 2,
}

func functions(n, grid int) []flow.Subject {
	all := make([]flow.Subject, n)
	for i := range all {
		c := sde.Coefficients{Grid: sde.Grid{Lo: -5, Hi: 5, N: grid}}
		source := random.New(5, "test", uint64(i))
		for range grid {
			c.Drift = append(c.Drift, float32(source.NormFloat64()))
			c.Diffusion = append(c.Diffusion, float32(0.5+source.Float64()))
		}
		all[i].Function = family.Function{System: c, Fields: [][]float32{c.Drift, c.Diffusion}}
	}
	return all
}

func fresh(model deeponet.Config) *state.State {
	st := state.Fresh(model.Layout(), 3)
	st.Normalisation = shard.Normalisation{"drift": {Std: 1}, "diffusion": {Mean: 1, Std: .3}}
	return st
}

// open makes a sampler of the state, with stored fields as inputs.
func open(t testing.TB, b *backend.Backend, model deeponet.Config, st *state.State) *sampler.Sampler {
	t.Helper()
	var fields []family.Field
	for _, input := range model.Inputs() {
		fields = append(fields, family.Field(input))
	}
	conditioner, err := flow.NewStored(model.Inputs(), fields, flow.Grid{}, st.Normalisation)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sampler.New(b, model, conditioner, st)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// A function's samples do not depend on the functions beside it, and the first
// samples of a long request are those of a short one, which has other shapes.
func TestChunkingIsInvisible(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		s := open(t, b, small, fresh(small))
		solver := ode.Euler{Steps: 2}
		all := functions(19, nodes) // more than one execution of the encoder
		few, err := s.Sample(context.Background(), all, 100, solver, 7)
		if err != nil {
			t.Fatal(err)
		}
		many, err := s.Sample(context.Background(), all[:2], 5000, solver, 7)
		if err != nil {
			t.Fatal(err)
		}
		for i, long := range many {
			for j, x := range few[i] {
				if !(math.Abs(float64(x-long[j])) <= 1e-5) {
					t.Fatalf("function %d sample %d is %g in a short and %g in a long request", i, j, x, long[j])
				}
			}
		}
		if slices.Equal(few[0], few[18]) {
			t.Error("two functions have the same samples")
		}
		other, err := s.Sample(context.Background(), all[:1], 100, solver, 8)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Equal(other[0], few[0]) {
			t.Error("another seed gives the same samples")
		}
	})
}

// A state with standardised states gives mean + std·z of the same flow's z. Without them, as in
// checkpoints of older builds, the samples are z.
func TestStandardisedStates(t *testing.T) {
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		solver, raw, standardised := ode.Euler{Steps: 2}, fresh(small), fresh(small)
		standardised.Normalisation[shard.State(0)] = shard.Standard{Mean: 1000, Std: 64}
		z, err := open(t, b, small, raw).Sample(t.Context(), functions(1, nodes), 100, solver, 7)
		if err != nil {
			t.Fatal(err)
		}
		x, err := open(t, b, small, standardised).Sample(t.Context(), functions(1, nodes), 100, solver, 7)
		if err != nil {
			t.Fatal(err)
		}
		for i := range z[0] {
			if want := float32(1000 + 64*float64(z[0][i])); x[0][i] != want {
				t.Fatalf("sample %d is %g, want %g", i, x[0][i], want)
			}
		}
	})
}

// part is the tensor of that name in a state.
func part(st *state.State, name string) []float32 {
	i := slices.IndexFunc(st.Layout, func(t parameters.Tensor) bool { return t.Name == name })
	offsets := st.Layout.Offsets()
	return st.Parameters[offsets[i]:offsets[i+1]]
}

// With a zero last layer the velocity is zero and noise stays what it is; with
// the code's bias alone it is a constant c, and every sample moves by c.
func TestConstantVelocity(t *testing.T) {
	st := fresh(small)
	clear(part(st, "trunk.output.weight"))
	clear(part(st, "trunk.output.bias"))
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		sample := func() []float32 {
			s := open(t, b, small, st)
			x, err := s.Sample(context.Background(), functions(1, nodes), 300, ode.RK4{Steps: 4}, 1)
			if err != nil {
				t.Fatal(err)
			}
			return x[0]
		}
		noise := sample()
		source := random.New(1, "sampler", 0)
		for i, x := range noise {
			if want := float32(source.NormFloat64()); x != want {
				t.Fatalf("sample %d is %g, its noise %g", i, x, want)
			}
		}
		for _, branch := range []string{"drift", "diffusion"} {
			clear(part(st, branch+".output.weight"))
			for i := range part(st, branch+".output.bias") {
				part(st, branch+".output.bias")[i] = 2
			}
		}
		for i := range part(st, "trunk.output.bias") {
			part(st, "trunk.output.bias")[i] = .125
		}
		want := float32(4 * 2 * 2 * .125) // rank · f⁰ · f¹ · u
		for i, x := range sample() {
			if !(math.Abs(float64(x-noise[i]-want)) <= 1e-5) {
				t.Fatalf("sample %d moved by %g, want %g", i, x-noise[i], want)
			}
		}
		clear(part(st, "trunk.output.bias"))
	})
}

// In the plane a constant velocity moves each number of a sample by its own
// constant, whatever the samples are cut into.
func TestPlane(t *testing.T) {
	model := small
	model.Dimension, model.Fields = 2, []velocity.Input{{Name: "drift", Shape: []int{5, 4, 2}}}
	st := fresh(model)
	clear(part(st, "trunk.output.weight"))
	clear(part(st, "drift.output.weight"))
	for l := range model.Rank {
		copy(part(st, "drift.output.bias")[2*l:], []float32{2, 1})
		copy(part(st, "trunk.output.bias")[2*l:], []float32{.125, -.5})
	}
	moves := [2]float32{4 * 2 * .125, 4 * -.5} // rank · f · u
	subject := flow.Subject{Function: family.Function{Fields: [][]float32{make([]float32, 40)}}}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		const n = 4096 + 100 // more than one execution
		x, err := open(t, b, model, st).Sample(context.Background(), []flow.Subject{subject}, n, ode.Dopri5{}, 1)
		if err != nil {
			t.Fatal(err)
		}
		if len(x[0]) != 2*n {
			t.Fatalf("%d numbers of %d samples", len(x[0]), n)
		}
		source := random.New(1, "sampler", 0)
		for i, v := range x[0] {
			if want := float32(source.NormFloat64()) + moves[i%2]; !(math.Abs(float64(v-want)) <= 1e-5) {
				t.Fatalf("number %d of sample %d is %g, want %g", i%2, i/2, v, want)
			}
		}
	})
}

func TestBadRequests(t *testing.T) {
	b := backendtest.Fast(t)
	s := open(t, b, small, fresh(small))
	good := functions(1, nodes)
	broken := functions(1, nodes)
	broken[0].Function.Fields[0][3] = float32(math.NaN()) // which the system shares
	plane := functions(1, nodes)
	plane[0].Function.System = sde.Plane{
		X: sde.Grid{Lo: 0, Hi: 1, N: 2}, Y: sde.Grid{Lo: 0, Hi: 1, N: 2}, Drift: make([]float32, 8), Diffusion: []float32{1},
	}
	cancelled, cancel := context.WithCancel(context.Background())
	cancel()
	for name, call := range map[string]func() error{
		"no samples": func() error { _, err := s.Sample(context.Background(), good, 0, ode.RK4{Steps: 4}, 0); return err },
		"too many":   func() error { _, err := s.Sample(context.Background(), good, 1<<40, ode.RK4{Steps: 4}, 0); return err },
		"other grid": func() error {
			_, err := s.Sample(context.Background(), functions(1, 17), 4, ode.RK4{Steps: 4}, 0)
			return err
		},
		"drift NaN": func() error { _, err := s.Sample(context.Background(), broken, 4, ode.RK4{Steps: 4}, 0); return err },
		"cancelled": func() error { _, err := s.Sample(cancelled, good, 4, ode.RK4{Steps: 4}, 0); return err },
		"other net": func() error { _, err := sampler.New(b, deeponet.Paper(64), nil, fresh(small)); return err },
		"other dim": func() error { _, err := s.Sample(context.Background(), plane, 4, ode.RK4{Steps: 4}, 0); return err },
	} {
		err := call()
		if err == nil {
			t.Errorf("%s: no error", name)
		}
		if name == "cancelled" && !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
	}
}

// BenchmarkSample reports the speed of drawing 4,096 samples of one function
// with the paper's network and solver, and of the same products alone.
func BenchmarkSample(b *testing.B) {
	model := deeponet.Paper(64)
	s := open(b, backendtest.Fast(b), model, fresh(model))
	all := functions(1, 64)
	for b.Loop() {
		if _, err := s.Sample(context.Background(), all, 4096, ode.RK4{Steps: 4}, 0); err != nil {
			b.Fatal(err)
		}
	}
	trunk := 2.0 * (65*256 + 3*256*256) // operations per evaluation of one sample
	b.ReportMetric(16*4096*trunk*float64(b.N)/b.Elapsed().Seconds()/1e9, "GFLOP/s")
}
