package train

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/batch"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/velocity"
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

// Benchmark measures steps on batches of that many functions, from a shard of
// noise that stores every input of the network: assembly, gradient, transfer of
// the sum to the host and back, clipping and update, as a worker alone would do
// them, without overlap.
func Benchmark(
	ctx context.Context, b *backend.Backend, experiment string, config Config, coupling flow.Coupling, functions, steps int,
) (m Measurement, err error) {
	if functions < 1 || steps < 1 {
		return m, fmt.Errorf("benchmark of %d functions, %d steps", functions, steps)
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
	data, err := noiseShard(dir, plan, config.Model)
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

	conditioner, err := flow.NewStored(config.Model.Inputs(), data.Fields(), normalisation)
	if err != nil {
		return m, err
	}
	assembler := flow.NewAssembler(plan, config.Model.Dim(), coupling, conditioner)
	var work flow.Batch
	sum := make([]float32, trainer.Size()+2)
	var times [4][]float64 // whole step, assembly, gradient, update
	for step := range warmUp + steps {
		if err := ctx.Err(); err != nil {
			return m, err
		}
		start := time.Now()
		work.Reset(config.Samples, config.Model.Dim(), len(config.Model.Inputs()))
		assembler.Append(&work, data, plan.Picks(step, 0))
		if err := assembler.Complete(ctx, &work); err != nil {
			return m, err
		}
		assembled := time.Now()
		if err := trainer.Gradient(&work); err != nil {
			return m, err
		}
		if err := trainer.Take(sum); err != nil {
			return m, err
		}
		taken := time.Now()
		if _, err := trainer.Apply(sum, int64(step)); err != nil {
			return m, err
		}
		end := time.Now()
		if step < warmUp {
			continue
		}
		for i, d := range []time.Duration{end.Sub(start), assembled.Sub(start), taken.Sub(assembled), end.Sub(taken)} {
			times[i] = append(times[i], d.Seconds())
		}
	}
	m = Measurement{
		Experiment: experiment, Backend: b.Name, Steps: steps,
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

// noiseShard writes a shard of inputs and samples without meaning.
func noiseShard(dir string, plan batch.Plan, model velocity.Model) (*shard.Shard, error) {
	const dataset = "00000000000000000000000000000000"
	store := shard.NewDir(dir)
	header := shard.Header{
		Family: "noise", Dataset: dataset, Purpose: shard.Train,
		Count: plan.FunctionsPerShard, Dim: model.Dim(), Samples: plan.Samples,
	}
	for _, input := range model.Inputs() {
		header.Fields = append(header.Fields, shard.Field(input))
	}
	w, err := store.Create(header)
	if err != nil {
		return nil, err
	}
	source := random.New(0, "benchmark")
	fill := func(size int, write func([]float32) error) error {
		values := make([]float32, size)
		for range plan.FunctionsPerShard {
			for i := range values {
				values[i] = float32(source.NormFloat64())
			}
			if err := write(values); err != nil {
				return err
			}
		}
		return nil
	}
	for k, field := range header.Fields {
		if err := fill(field.Size(), func(v []float32) error { return w.Field(k, v) }); err != nil {
			return nil, errors.Join(err, w.Abort())
		}
	}
	if err := fill(plan.Samples*header.Dim, w.Samples); err != nil {
		return nil, errors.Join(err, w.Abort())
	}
	if _, err := w.Commit(); err != nil {
		return nil, err
	}
	return store.Open(dataset, 0)
}
