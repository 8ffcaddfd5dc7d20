package trainer

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/random"
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
	// GFLOPS counts what the network is defined by, see velocity.Model, over the
	// median.
	GFLOPS           float64 `json:"gflops"`
	SamplesPerSecond float64 `json:"samples_per_s"`
	// Parts of the step, medians in seconds.
	Assembly float64 `json:"assembly_s"`
	Gradient float64 `json:"gradient_s"` // upload, gradient, download of the sum
	Update   float64 `json:"update_s"`   // upload of the sum, clip, update
}

// Workload is what Benchmark measures.
type Workload struct {
	Experiment string // its name
	Config     Config
	Coupling   flow.Coupling
	Functions  int // in a batch
	MicroBatch int // functions of a gradient, at most; 0: all
	// Fields are stored of every function, with the values that Function makes.
	Fields   []shard.Field
	Function func(i int) ([][]float32, error)
	// Conditioner makes the network's inputs, standardised as the fields are.
	Conditioner func(shard.Normalisation) (flow.Conditioner, error)
}

// Benchmark measures that many steps on functions whose samples are noise:
// assembly with whatever the conditioner makes, gradient, transfer of the sum to
// the host and back, clipping and update, as a worker alone would do them,
// without overlap.
func Benchmark(ctx context.Context, b *backend.Backend, w Workload, steps int) (m Measurement, err error) {
	config, functions, micro := w.Config, w.Functions, w.MicroBatch
	if micro == 0 {
		micro = functions
	}
	if functions < 1 || micro < 1 || steps < 1 {
		return m, fmt.Errorf("benchmark of %d functions, %d at a time, %d steps", functions, micro, steps)
	}
	dir, err := os.MkdirTemp("", "ergoflow-bench-")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	plan := batch.Plan{
		Shards: 1, FunctionsPerShard: 2 * functions, Samples: 128 * config.Samples,
		BatchFunctions: functions, BatchSamples: config.Samples,
	}
	if err := plan.Validate(); err != nil {
		return m, err
	}
	data, err := noiseShard(dir, plan, w)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, data.Close()) }()
	normalisation, err := shard.Normalise([]shard.Manifest{data.Manifest()})
	if err != nil {
		return m, err
	}
	const warmUp = 5
	config.Optimizer.Schedule.Total = int64(warmUp + steps)
	trainer, err := New(b, config)
	if err != nil {
		return m, err
	}
	defer trainer.Close()
	theta := config.Model.Layout().Initialise(0)
	if err := trainer.SetState(theta, make([]float32, len(theta)), make([]float32, len(theta))); err != nil {
		return m, err
	}

	conditioner, err := w.Conditioner(normalisation)
	if err != nil {
		return m, err
	}
	assembler := flow.NewAssembler(plan, config.Model.Dim(), w.Coupling, conditioner)
	work := make([]flow.Batch, (functions+micro-1)/micro)
	sum := make([]float32, trainer.Size()+2)
	var times [4][]float64 // whole step, assembly, gradient, update
	for step := range warmUp + steps {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		start := time.Now()
		var assembly time.Duration
		picks := plan.Picks(step, 0)
		for i := range work {
			begin := time.Now()
			work[i].Reset(config.Samples, config.Model.Dim(), len(config.Model.Inputs()))
			assembler.Append(&work[i], data, picks[i*micro:min((i+1)*micro, functions)])
			if err := assembler.Complete(ctx, &work[i]); err != nil {
				return m, err
			}
			assembly += time.Since(begin)
			if err := trainer.Accumulate(&work[i]); err != nil {
				return m, err
			}
		}
		if err := trainer.TakeSum(sum); err != nil {
			return m, err
		}
		taken := time.Now()
		if err := trainer.Apply(sum, int64(step)); err != nil {
			return m, err
		}
		end := time.Now()
		if step < warmUp {
			continue
		}
		for i, d := range []time.Duration{end.Sub(start), assembly, taken.Sub(start) - assembly, end.Sub(taken)} {
			times[i] = append(times[i], d.Seconds())
		}
	}
	m = Measurement{
		Experiment: w.Experiment, Backend: b.Name, Steps: steps,
		Batch:  fmt.Sprintf("%d×%d", functions, config.Samples),
		Median: median(times[0]), Min: slices.Min(times[0]),
		Assembly: median(times[1]), Gradient: median(times[2]), Update: median(times[3]),
	}
	m.GFLOPS = config.Model.FLOPs(functions, config.Samples) / m.Median / 1e9
	m.SamplesPerSecond = float64(functions*config.Samples) / m.Median
	return m, nil
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// noiseShard writes a shard of the workload's functions and samples without meaning.
func noiseShard(dir string, plan batch.Plan, w Workload) (*shard.Shard, error) {
	const dataset = "00000000000000000000000000000000"
	store, dim := shard.NewDir(dir), w.Config.Model.Dim()
	to, err := store.Create(shard.Header{
		Family: "noise", Dataset: dataset, Purpose: shard.Train,
		Count: plan.FunctionsPerShard, Dim: dim, Fields: w.Fields, Samples: plan.Samples,
	})
	if err != nil {
		return nil, err
	}
	if err := writeNoise(to, plan, w, dim); err != nil {
		to.Abort()
		return nil, err
	}
	if _, err := to.Commit(); err != nil {
		return nil, err
	}
	return store.Open(dataset, 0)
}

func writeNoise(to *shard.Writer, plan batch.Plan, w Workload, dim int) error {
	for k := range w.Fields { // one after the other, as they are stored
		for i := range plan.FunctionsPerShard {
			values, err := w.Function(i)
			if err != nil {
				return err
			}
			if err := to.Field(k, values[k]); err != nil {
				return err
			}
		}
	}
	source := random.New(0, "benchmark")
	samples := make([]float32, plan.Samples*dim)
	for range plan.FunctionsPerShard {
		for i := range samples {
			samples[i] = float32(source.NormFloat64())
		}
		if err := to.Samples(samples); err != nil {
			return err
		}
	}
	return nil
}
