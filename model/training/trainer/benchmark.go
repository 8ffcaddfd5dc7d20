package trainer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/sets/batch"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// Measurement of whole training steps, one after the other.
type Measurement struct {
	Experiment string  `json:"experiment"`
	Backend    string  `json:"backend"`
	Batch      string  `json:"batch"` // functions × samples
	Steps      int     `json:"steps"`
	Median     float64 `json:"median_s"`
	Min        float64 `json:"min_s"`
	// GFLOPS are the operations of velocity.Model.FLOPs over the median.
	GFLOPS           float64 `json:"gflops"`
	SamplesPerSecond float64 `json:"samples_per_s"`
	// Parts of the step, medians in seconds.
	Assembly float64 `json:"assembly_s"`
	Gradient float64 `json:"gradient_s"` // upload, gradient, download of the sum
	Update   float64 `json:"update_s"`   // upload of the sum, clip, update
}

// Workload is what Benchmark measures.
type Workload struct {
	Experiment string // name
	Config     Config
	Coupling   flow.Coupling
	Functions  int // in a batch
	Stored     int // samples of every function; a multiple of those in a batch
	MicroBatch int // most functions of one gradient; 0: all
	// Fields are the stored fields of every function, Function their values for
	// function i.
	Fields   []shard.Field
	Function func(i int) ([][]float32, error)
	// Conditioner makes the network's inputs, given the normalisation of the fields.
	Conditioner func(shard.Normalisation) (flow.Conditioner, error)
}

// warmUp is the number of steps before those that are timed.
const warmUp = 5

// Benchmark measures that many steps on functions whose samples are noise:
// assembly including the conditioner, gradient, transfer of the sum to the host
// and back, clipping and update. This is the step of a single worker, without
// overlap of its parts.
func Benchmark(ctx context.Context, b *backend.Backend, w Workload, steps int) (m Measurement, err error) {
	w.MicroBatch = cmp.Or(w.MicroBatch, w.Functions)
	if w.Functions < 1 || w.MicroBatch < 1 || steps < 1 {
		return m, fmt.Errorf("benchmark of %d functions, %d at a time, %d steps", w.Functions, w.MicroBatch, steps)
	}
	w.Config.Optimizer.Schedule.Total = int64(warmUp + steps)
	bench, err := newBenchmark(b, w)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, bench.close()) }()
	var timings []timing
	for step := range warmUp + steps {
		t, err := bench.step(ctx, step)
		if err != nil {
			return m, err
		}
		if step >= warmUp {
			timings = append(timings, t)
		}
	}
	return w.summarise(b.Name, timings), nil
}

// benchmark is a trainer with a data set and the memory of one step.
type benchmark struct {
	Workload
	plan      batch.Plan
	dir       string // of the data set, temporary
	data      *shard.Shard
	trainer   *Trainer
	assembler *flow.Assembler
	batches   []flow.Batch // micro-batches of a step
	sum       []float32
}

func newBenchmark(b *backend.Backend, w Workload) (bench *benchmark, err error) {
	bench = &benchmark{
		Workload: w,
		plan: batch.Plan{
			Shards: 1, FunctionsPerShard: 2 * w.Functions, Samples: w.Stored,
			BatchFunctions: w.Functions, BatchSamples: w.Config.Samples,
		},
		batches: make([]flow.Batch, (w.Functions+w.MicroBatch-1)/w.MicroBatch),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, bench.close())
		}
	}()
	if err := bench.plan.Validate(); err != nil {
		return bench, err
	}
	if bench.dir, err = os.MkdirTemp("", "ergoflow-bench-"); err != nil {
		return bench, err
	}
	if bench.data, err = noiseShard(bench.dir, bench.plan, w); err != nil {
		return bench, err
	}
	normalisation, err := shard.Normalise([]shard.Manifest{bench.data.Manifest()})
	if err != nil {
		return bench, err
	}
	if bench.trainer, err = New(b, w.Config); err != nil {
		return bench, err
	}
	bench.sum = make([]float32, bench.trainer.Size()+2)
	theta := w.Config.Model.Layout().Initialise(0)
	if err := bench.trainer.SetState(theta, make([]float32, len(theta)), make([]float32, len(theta))); err != nil {
		return bench, err
	}
	conditioner, err := w.Conditioner(normalisation)
	if err != nil {
		return bench, err
	}
	bench.assembler = flow.NewAssembler(bench.plan, w.Config.Model.Dim(), w.Coupling, conditioner)
	bench.assembler.Points = w.Config.Points
	return bench, nil
}

func (b *benchmark) close() (err error) {
	if b.trainer != nil {
		b.trainer.Close()
	}
	if b.data != nil {
		err = b.data.Close()
	}
	if b.dir != "" {
		err = errors.Join(err, os.RemoveAll(b.dir))
	}
	return err
}

// timing of one step and of its parts.
type timing struct{ step, assembly, gradient, update time.Duration }

// step makes one training step.
func (b *benchmark) step(ctx context.Context, step int) (t timing, err error) {
	if err := ctx.Err(); err != nil {
		return t, err
	}
	start := time.Now()
	picks := b.plan.Picks(step, 0)
	for i := range b.batches {
		begin := time.Now()
		if err := b.assemble(ctx, &b.batches[i], step, picks[i*b.MicroBatch:min((i+1)*b.MicroBatch, b.Functions)]); err != nil {
			return t, err
		}
		t.assembly += time.Since(begin)
		if err := b.trainer.Accumulate(&b.batches[i]); err != nil {
			return t, err
		}
	}
	if err := b.trainer.TakeSum(b.sum); err != nil {
		return t, err
	}
	summed := time.Now()
	if err := b.trainer.Apply(b.sum, int64(step)); err != nil {
		return t, err
	}
	end := time.Now()
	t.step, t.gradient, t.update = end.Sub(start), summed.Sub(start)-t.assembly, end.Sub(summed)
	return t, nil
}

func (b *benchmark) assemble(ctx context.Context, dst *flow.Batch, step int, picks []batch.Pick) error {
	dst.Reset(b.Config.Samples, b.Config.Model.Dim(), len(b.Config.Model.Inputs()))
	b.assembler.Append(dst, b.data, picks)
	return b.assembler.Complete(ctx, dst, step)
}

func (w Workload) summarise(backend string, timings []timing) Measurement {
	seconds := func(part func(timing) time.Duration) []float64 {
		values := make([]float64, len(timings))
		for i, t := range timings {
			values[i] = part(t).Seconds()
		}
		slices.Sort(values)
		return values
	}
	steps := seconds(func(t timing) time.Duration { return t.step })
	m := Measurement{
		Experiment: w.Experiment, Backend: backend, Steps: len(timings),
		Batch:    fmt.Sprintf("%d×%d", w.Functions, w.Config.Samples),
		Median:   median(steps),
		Min:      steps[0],
		Assembly: median(seconds(func(t timing) time.Duration { return t.assembly })),
		Gradient: median(seconds(func(t timing) time.Duration { return t.gradient })),
		Update:   median(seconds(func(t timing) time.Duration { return t.update })),
	}
	m.GFLOPS = w.Config.FLOPs(w.Functions) / m.Median / 1e9
	m.SamplesPerSecond = float64(w.Functions*w.Config.Samples) / m.Median
	return m
}

// median of sorted values.
func median(sorted []float64) float64 {
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
