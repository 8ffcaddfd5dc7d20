package trainer_test

import (
	"errors"
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/compute/backend/backendtest"
	"github.com/ergoflow/ergoflow/model/network/deeponet"
	"github.com/ergoflow/ergoflow/model/network/sensor"
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/optim"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

const (
	samples = 4
	nodes   = 8
)

// fields are drift and diffusion on a grid of the line.
func fields(nodes int) []velocity.Input {
	return []velocity.Input{{Name: "drift", Shape: []int{nodes}}, {Name: "diffusion", Shape: []int{nodes}}}
}

func config(steps int64) trainer.Config {
	return trainer.Config{
		Model: deeponet.Config{
			Dimension: 1, Fields: fields(nodes), Rank: 3, Channels: []int{3, 4}, Kernel: 3, Hidden: 6, TrunkWidth: 16, TrunkDepth: 2,
			TimeEmbedding: 4, StateEmbedding: 4, FMin: .25, FMax: 1,
		},
		Optimizer: optim.AdamW{WeightDecay: 1e-4, ClipNorm: 1, Schedule: optim.OneCycle{Peak: 1e-2, Total: steps}},
		Samples:   samples,
	}
}

// noise makes a batch of n functions, numbered from first, for a network.
func noise(first, n, samples int, model velocity.Model) *flow.Batch {
	b := new(flow.Batch)
	b.Reset(samples, model.Dim(), len(model.Inputs()))
	for f := range n {
		source := random.New(11, "test", uint64(first+f))
		for k, input := range model.Inputs() {
			for range input.Size() {
				b.Inputs[k] = append(b.Inputs[k], float32(source.NormFloat64()))
			}
		}
		for range samples {
			for range model.Dim() {
				b.X0 = append(b.X0, float32(source.NormFloat64()))
				b.X1 = append(b.X1, float32(source.NormFloat64()))
			}
			b.T = append(b.T, float32(source.Float64()))
		}
		b.Functions++
	}
	return b
}

func newTrainer(t testing.TB, b *backend.Backend, c trainer.Config) (*trainer.Trainer, []float32) {
	t.Helper()
	tr, err := trainer.New(b, c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(tr.Close)
	theta := c.Model.Layout().Initialise(1)
	setTheta(t, tr, theta)
	return tr, theta
}

func setTheta(t testing.TB, tr *trainer.Trainer, theta []float32) {
	t.Helper()
	if err := tr.SetState(theta, make([]float32, len(theta)), make([]float32, len(theta))); err != nil {
		t.Fatal(err)
	}
}

// total returns the sum over the batches.
func total(t testing.TB, tr *trainer.Trainer, batches ...*flow.Batch) []float32 {
	t.Helper()
	for _, b := range batches {
		if err := tr.Accumulate(b); err != nil {
			t.Fatal(err)
		}
	}
	sum := make([]float32, tr.Size()+2)
	if err := tr.TakeSum(sum); err != nil {
		t.Fatal(err)
	}
	return sum
}

// planeConfig is a network in the plane.
func planeConfig() trainer.Config {
	c := config(1)
	model := c.Model.(deeponet.Config)
	model.Dimension, model.Fields = 2, []velocity.Input{{Name: "drift", Shape: []int{5, 4, 2}}}
	c.Model = model
	return c
}

// The gradient is that of the loss, on the line and in the plane: central
// differences along random directions.
func TestGradientAgainstFiniteDifferences(t *testing.T) {
	for name, c := range map[string]trainer.Config{"line": config(1), "plane": planeConfig()} {
		t.Run(name, func(t *testing.T) { compareWithDifferences(t, c) })
	}
}

func compareWithDifferences(t *testing.T, c trainer.Config) {
	batch := noise(0, 6, samples, c.Model)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		tr, theta := newTrainer(t, b, c)
		sum := total(t, tr, batch)
		if got, want := sum[len(theta)+1], float32(6*samples); got != want {
			t.Fatalf("counted %g samples, want %g", got, want)
		}
		for direction := range 5 {
			source := random.New(2, "direction", uint64(direction))
			d := make([]float64, len(theta))
			slope := 0.0
			for i := range d {
				d[i] = source.NormFloat64()
				slope += d[i] * float64(sum[i])
			}
			const h = 1e-3
			at := func(h float64) float64 {
				moved := make([]float32, len(theta))
				for i, x := range theta {
					moved[i] = float32(float64(x) + h*d[i])
				}
				setTheta(t, tr, moved)
				return float64(total(t, tr, batch)[len(theta)])
			}
			// Fourth order, so that the difference's own error is small.
			numeric := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
			if !(math.Abs(numeric-slope) <= 2e-3*math.Abs(slope)+0.02) {
				t.Errorf("direction %d: slope %g, by differences %g", direction, slope, numeric)
			}
			setTheta(t, tr, theta)
		}
	})
}

func TestMicroBatchesAddUp(t *testing.T) {
	c := config(1)
	whole := noise(0, 6, samples, c.Model)
	parts := []*flow.Batch{noise(0, 2, samples, c.Model), noise(2, 2, samples, c.Model), noise(4, 2, samples, c.Model)}
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		tr, _ := newTrainer(t, b, c)
		if err := tr.Precompile(2, 6); err != nil {
			t.Fatal(err)
		}
		compare(t, total(t, tr, parts...), total(t, tr, whole), 1e-5)
		// And nothing is left of them.
		for i, x := range total(t, tr) {
			if x != 0 {
				t.Fatalf("element %d of an empty sum is %g", i, x)
			}
		}
	})
}

func TestBackendsAgree(t *testing.T) {
	c := config(20)
	var first []float32
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		tr, theta := newTrainer(t, b, c)
		for step := range int64(20) {
			sum := total(t, tr, noise(int(step), 4, samples, c.Model))
			if err := tr.Apply(sum, step); err != nil {
				t.Fatal(err)
			}
		}
		if err := tr.State(theta, nil, nil); err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = theta
			return
		}
		compare(t, theta, first, 1e-4)
	})
}

// compare fails where got and want differ by more than tolerance times the
// largest value.
func compare(t *testing.T, got, want []float32, tolerance float64) {
	t.Helper()
	scale := 0.0
	for _, w := range want {
		scale = max(scale, math.Abs(float64(w)))
	}
	for i, w := range want {
		if !(math.Abs(float64(got[i]-w)) <= tolerance*scale) {
			t.Fatalf("element %d is %g, want %g", i, got[i], w)
		}
	}
}

func TestDivergenceKeepsTheState(t *testing.T) {
	c := config(10)
	backendtest.Each(t, func(t *testing.T, b *backend.Backend) {
		tr, theta := newTrainer(t, b, c)
		good := total(t, tr, noise(0, 2, samples, c.Model))
		for name, spoil := range map[string]func([]float32){
			"loss NaN":          func(s []float32) { s[len(s)-2] = float32(math.NaN()) },
			"gradient NaN":      func(s []float32) { s[3] = float32(math.NaN()) },
			"gradient infinite": func(s []float32) { s[3] = float32(math.Inf(1)) },
		} {
			bad := append([]float32(nil), good...)
			spoil(bad)
			if err := tr.Apply(bad, 0); !errors.Is(err, trainer.ErrDiverged) {
				t.Errorf("%s: %v, want ErrDiverged", name, err)
			}
		}
		for name, call := range map[string]func() error{
			"empty batch": func() error { return tr.Apply(make([]float32, len(good)), 0) },
			"short sum":   func() error { return tr.Apply(good[1:], 0) },
			"step beyond": func() error { return tr.Apply(good, 10) },
			"other grid":  func() error { return tr.Accumulate(noise(0, 2, samples, deeponet.Paper(nodes+1))) },
			"other plane": func() error { return tr.Accumulate(noise(0, 2, samples, deeponet.PaperPlane(nodes))) },
			"other count": func() error { return tr.Accumulate(noise(0, 2, samples+1, c.Model)) },
			"no batch":    func() error { return tr.Accumulate(new(flow.Batch)) },
		} {
			if call() == nil {
				t.Errorf("%s: accepted", name)
			}
		}
		got := make([]float32, len(theta))
		if err := tr.State(got, nil, nil); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			if got[i] != theta[i] {
				t.Fatalf("parameter %d moved from %g to %g", i, theta[i], got[i])
			}
		}
	})
}

// Networks with the same parameters and inputs of other shapes add to the same sum. A
// batch that fits none is refused, and so are networks with other parameters.
func TestOthers(t *testing.T) {
	b, err := backend.Open(backend.Go)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	with := func(sensors int) sensor.Config {
		c := sensor.Plane()
		c.Sensors, c.Steps, c.Features, c.Channels = sensors, 2, 3, []int{4}
		c.Hidden, c.Width, c.EncoderBlocks, c.Heads, c.DecoderWidth, c.DecoderBlocks, c.TimeEmbedding = 4, 4, 1, 2, 4, 1, 4
		return c
	}
	c := config(1)
	c.Model = with(2)
	var want [2][]float32
	for i, sensors := range []int{2, 3} {
		alone := c
		alone.Model = with(sensors)
		tr, _ := newTrainer(t, b, alone)
		want[i] = total(t, tr, noise(0, 4, samples, alone.Model))
	}
	c.Others = []velocity.Model{with(3)}
	both, _ := newTrainer(t, b, c)
	if err := both.Precompile(4); err != nil {
		t.Fatal(err)
	}
	for i, got := range total(t, both, noise(0, 4, samples, with(2)), noise(0, 4, samples, with(3))) {
		if w := want[0][i] + want[1][i]; !(math.Abs(float64(got-w)) <= 1e-4*(1+math.Abs(float64(w)))) {
			t.Fatalf("element %d of the sum is %g, want %g", i, got, w)
		}
	}
	if want[0][len(want[0])-2] == want[1][len(want[1])-2] {
		t.Error("the loss is the same with other sensors")
	}
	if err := both.Accumulate(noise(0, 4, samples, with(4))); err == nil {
		t.Error("a batch for four sensors is accepted")
	}
	wide := with(3)
	wide.Hidden, wide.Width = 8, 8
	c.Others = []velocity.Model{wide}
	if _, err := trainer.New(b, c); err == nil {
		t.Error("networks of different parameters are accepted")
	}
}

func TestBenchmark(t *testing.T) {
	c := config(1)
	var fields []shard.Field
	for _, input := range c.Model.Inputs() {
		fields = append(fields, shard.Field(input))
	}
	w := trainer.Workload{
		Experiment: "tiny", Config: c, Coupling: flow.OptimalTransport, Functions: 4, Stored: 4 * c.Samples, Fields: fields,
		Function: func(i int) ([][]float32, error) {
			var values [][]float32
			source := random.New(0, "test", uint64(i))
			for _, f := range fields {
				field := make([]float32, f.Size())
				for j := range field {
					field[j] = float32(source.NormFloat64())
				}
				values = append(values, field)
			}
			return values, nil
		},
		Conditioner: func(n shard.Normalisation) (flow.Conditioner, error) {
			return flow.NewStored(c.Model.Inputs(), fields, flow.Grid{}, n)
		},
	}
	b, err := backend.Open(backend.Go) // compiles fastest
	if err != nil {
		t.Fatal(err)
	}
	defer b.Close()
	for _, w.MicroBatch = range []int{0, 3, 9} {
		m, err := trainer.Benchmark(t.Context(), b, w, 3)
		if err != nil {
			t.Fatal(err)
		}
		if m.Steps != 3 || m.Batch != "4×4" || !(m.Min > 0) || !(m.Median >= m.Min) || !(m.GFLOPS > 0) {
			t.Errorf("implausible measurement %+v", m)
		}
	}
}
