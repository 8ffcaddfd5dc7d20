package flow_test

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

const (
	functions = 16
	stored    = 64
	grid      = 8
	dataset   = "00000000000000000000000000000001"
)

var plan = batch.Plan{
	Seed: 3, Shards: 1, FunctionsPerShard: functions, Samples: stored,
	BatchFunctions: 8, BatchSamples: 16,
}

var (
	fields        = []shard.Field{{Name: "drift", Shape: []int{grid}}, {Name: "diffusion", Shape: []int{grid}}}
	inputs        = []velocity.Input{{Name: "drift", Shape: []int{grid}}, {Name: "diffusion", Shape: []int{grid}}}
	normalisation = shard.Normalisation{"drift": {Mean: 1, Std: 2}, "diffusion": {Mean: 3, Std: .5}}
)

// assembler of a shard that open writes.
func assembler(t testing.TB, plan batch.Plan, dim int, coupling flow.Coupling) *flow.Assembler {
	t.Helper()
	conditioner, err := flow.NewStored(inputs, fields, flow.Grid{}, normalisation)
	if err != nil {
		t.Fatal(err)
	}
	return flow.NewAssembler(plan, dim, coupling, conditioner)
}

// first is the number of a shard's first function.
const first = 1000

// open writes a shard whose samples are all different and opens it.
func open(t testing.TB, functions, stored, dim int) *shard.Shard {
	t.Helper()
	return write(t, functions, stored, dim, func(x float64) float64 { return x })
}

// write is open with a function of an N(0,1) number for every sample.
func write(t testing.TB, functions, stored, dim int, of func(float64) float64) *shard.Shard {
	t.Helper()
	store := shard.NewDir(t.TempDir())
	w, err := store.Create(shard.Header{
		Family: "test", Dataset: dataset, Purpose: shard.Train, First: first, Count: functions, Dim: dim, Fields: fields, Samples: stored,
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []struct {
		write func([]float32) error
		size  int
	}{
		{func(v []float32) error { return w.Field(0, v) }, grid},
		{func(v []float32) error { return w.Field(1, v) }, grid},
		{w.Samples, stored * dim},
	} {
		source := random.New(9, "test", uint64(part.size))
		for range functions {
			values := make([]float32, part.size)
			for i := range values {
				values[i] = float32(of(source.NormFloat64()))
			}
			if err := part.write(values); err != nil {
				t.Fatal(err)
			}
		}
	}
	if _, err := w.Commit(); err != nil {
		t.Fatal(err)
	}
	s, err := store.Open(dataset, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func assemble(t testing.TB, a *flow.Assembler, s *shard.Shard, step int) *flow.Batch {
	b := new(flow.Batch)
	b.Reset(plan.BatchSamples, s.Manifest().Dim, len(inputs))
	a.Append(b, s, plan.Picks(step, 0))
	if err := a.Complete(t.Context(), b, step); err != nil {
		t.Fatal(err)
	}
	return b
}

// Times have the chosen law, within 4.5 standard errors of its mean and variance:
// those of U[0,1], and those of N(0,1) for the logits.
func TestTimes(t *testing.T) {
	s := open(t, functions, stored, 1)
	for law, want := range map[flow.Times]struct {
		of                     func(t float64) float64
		mean, variance, fourth float64 // the fourth central moment
	}{
		"":               {func(t float64) float64 { return t }, 0.5, 1. / 12, 1. / 80},
		flow.Uniform:     {func(t float64) float64 { return t }, 0.5, 1. / 12, 1. / 80},
		flow.LogitNormal: {func(t float64) float64 { return math.Log(t / (1 - t)) }, 0, 1, 3},
	} {
		a := assembler(t, plan, 1, flow.Independent)
		a.Times = law
		var n, sum, square float64
		for step := range 200 {
			for _, at := range assemble(t, a, s, step).T {
				if !(at >= 0 && at < 1) {
					t.Fatalf("%q: t = %g", law, at)
				}
				x := want.of(float64(at)) - want.mean
				n++
				sum += x
				square += x * x
			}
		}
		if z := sum / math.Sqrt(n*want.variance); !(math.Abs(z) <= 4.5) {
			t.Errorf("%q: the mean is %.1f standard errors off", law, z)
		}
		if z := (square - n*want.variance) / math.Sqrt(n*(want.fourth-want.variance*want.variance)); !(math.Abs(z) <= 4.5) {
			t.Errorf("%q: the variance is %.1f standard errors off", law, z)
		}
	}
}

func TestAppend(t *testing.T) {
	s := open(t, functions, stored, 1)
	b := assemble(t, assembler(t, plan, 1, flow.OptimalTransport), s, 0)
	if err := b.Validate(); err != nil {
		t.Fatal(err)
	}
	if b.Functions != plan.BatchFunctions {
		t.Fatalf("%d functions, want %d", b.Functions, plan.BatchFunctions)
	}
	for f, pick := range plan.Picks(0, 0) {
		for i, x := range s.Field(0, pick.Function) {
			if got, want := b.Inputs[0][f*grid+i], (x-1)/2; !(math.Abs(float64(got-want)) <= 1e-6) {
				t.Fatalf("function %d: drift %g, want %g", f, got, want)
			}
		}
		for i, x := range s.Field(1, pick.Function) {
			if got, want := b.Inputs[1][f*grid+i], (x-3)/.5; !(math.Abs(float64(got-want)) <= 1e-5) {
				t.Fatalf("function %d: diffusion %g, want %g", f, got, want)
			}
		}
		block := b.X1[f*b.Samples : (f+1)*b.Samples]
		for _, x := range block {
			if !slices.Contains(s.Samples(pick.Function), x) {
				t.Fatalf("function %d: sample %g is none of its own", f, x)
			}
		}
		if !slices.IsSorted(block) || !slices.IsSorted(b.X0[f*b.Samples:(f+1)*b.Samples]) {
			t.Errorf("function %d is not coupled by order", f)
		}
	}
}

// lineCouplings are the couplings of samples of one number.
func lineCouplings() []flow.Coupling {
	return slices.DeleteFunc(flow.Couplings(), func(c flow.Coupling) bool { return c == flow.Particles })
}

// Over an epoch every stored sample occurs exactly once.
func TestEpochIsComplete(t *testing.T) {
	s := open(t, functions, stored, 1)
	for _, coupling := range lineCouplings() {
		a := assembler(t, plan, 1, coupling)
		seen := make(map[float32]int)
		for step := range plan.StepsPerEpoch() {
			for _, x := range assemble(t, a, s, step).X1 {
				seen[x]++
			}
		}
		for f := range functions {
			for _, x := range s.Samples(f) {
				if seen[x] != 1 {
					t.Fatalf("%s, function %d: sample %g seen %d times", coupling, f, x, seen[x])
				}
			}
		}
	}
}

// What an assembler makes of a pick depends neither on its past nor on the batch.
func TestAssemblyIsPure(t *testing.T) {
	s := open(t, functions, stored, 1)
	for _, coupling := range lineCouplings() {
		a := assembler(t, plan, 1, coupling)
		first := assemble(t, a, s, 1)
		assemble(t, a, s, 0)
		again := assemble(t, a, s, 1)
		single := new(flow.Batch)
		single.Reset(plan.BatchSamples, 1, len(inputs))
		for _, pick := range plan.Picks(1, 0) {
			assembler(t, plan, 1, coupling).Append(single, s, []batch.Pick{pick})
		}
		if err := a.Complete(t.Context(), single, 0); err != nil {
			t.Fatal(err)
		}
		for name, b := range map[string]*flow.Batch{"again": again, "one by one": single} {
			if !slices.Equal(first.X0, b.X0) || !slices.Equal(first.X1, b.X1) || !slices.Equal(first.T, b.T) || !slices.Equal(first.Inputs[0], b.Inputs[0]) {
				t.Errorf("%s, %s: another batch", coupling, name)
			}
		}
		if slices.Equal(first.X0, assemble(t, a, s, 0).X0) {
			t.Errorf("%s: two steps have the same noise", coupling)
		}
	}
}

// Noise is N(0,1), times are U[0,1] and independent of the noise.
func TestNoiseAndTimes(t *testing.T) {
	s := open(t, functions, stored, 1)
	a := assembler(t, plan, 1, flow.OptimalTransport)
	var n, x, xx, u, uu, xu float64
	for step := range 400 {
		b := assemble(t, a, s, step)
		for i := range b.X0 {
			x0, t := float64(b.X0[i]), float64(b.T[i])
			n, x, xx, u, uu, xu = n+1, x+x0, xx+x0*x0, u+t, uu+t*t, xu+x0*t
		}
	}
	tolerance := 5 / math.Sqrt(n)
	for _, check := range []struct {
		name      string
		got, want float64
	}{
		{"mean of noise", x / n, 0}, {"variance of noise", xx / n, 1},
		{"mean of times", u / n, 1. / 2}, {"second moment of times", uu / n, 1. / 3},
		{"correlation", xu / n, 0},
	} {
		if !(math.Abs(check.got-check.want) <= 1.5*tolerance) {
			t.Errorf("%s is %g, want %g within %g", check.name, check.got, check.want, 1.5*tolerance)
		}
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	for _, coupling := range flow.Couplings() {
		dim := 1
		if coupling == flow.Particles {
			dim = 4
		}
		s := open(t, functions, stored, dim)
		a := assembler(t, plan, dim, coupling)
		b := assemble(t, a, s, 0)
		picks := plan.Picks(1, 0)
		if n := testing.AllocsPerRun(20, func() {
			b.Reset(plan.BatchSamples, s.Manifest().Dim, len(inputs))
			a.Append(b, s, picks)
			if err := a.Complete(t.Context(), b, 1); err != nil {
				t.Fatal(err)
			}
		}); n != 0 {
			t.Errorf("%s: %g allocations per batch", coupling, n)
		}
	}
}

func BenchmarkAppend256x32(b *testing.B) {
	full := batch.Plan{Shards: 1, FunctionsPerShard: 256, Samples: 4096, BatchFunctions: 256, BatchSamples: 32}
	s := open(b, full.FunctionsPerShard, full.Samples, 1)
	for _, coupling := range lineCouplings() {
		b.Run(string(coupling), func(b *testing.B) {
			a := assembler(b, full, 1, coupling)
			var dst flow.Batch
			for step := 0; b.Loop(); step++ {
				dst.Reset(full.BatchSamples, 1, len(inputs))
				a.Append(&dst, s, full.Picks(step, 0))
				if err := a.Complete(b.Context(), &dst, step); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
