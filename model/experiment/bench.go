package experiment

import (
	"cmp"
	"context"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/training/flow"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Benchmark measures that many training steps of one worker on the experiment's
// functions, with noise for their samples.
func (e Experiment) Benchmark(ctx context.Context, b *backend.Backend, steps int) (trainer.Measurement, error) {
	f, err := e.Family()
	if err != nil {
		return trainer.Measurement{}, err
	}
	return trainer.Benchmark(ctx, b, trainer.Workload{
		Experiment: e.Name, Config: e.Trainer(), Coupling: e.Training.Coupling, Functions: e.Training.BatchFunctions,
		Stored: e.Data.Samples, MicroBatch: e.Training.MicroBatch,
		Fields: f.Fields(),
		Function: func(i int) ([][]float32, error) {
			function, err := f.Function(e.Data.Seed, i)
			return function.Fields, err
		},
		Conditioner: func(n shard.Normalisation) (flow.Conditioner, error) {
			if e.Model.Sensor != nil {
				if err := e.addFeatures(ctx, n, f); err != nil { // of raw states: there are no samples
					return nil, err
				}
			}
			return e.Alternatives()[0].Conditioner(f, n) // of Config.Model
		},
	}, steps)
}

// Miniature is an experiment with that many of the same training steps, on the least data that
// they need: one batch of functions, hardly simulated.
func (e Experiment) Miniature(steps int) (Experiment, error) {
	f, err := e.Family()
	if err != nil {
		return e, err
	}
	const least = 16 // samples; the evaluation is not run
	d := &e.Data
	d.HeldOut, d.HeldOutFrom, d.First, d.Imports = 1, cmp.Or(d.HeldOutFrom, d.Functions), 0, nil
	d.Functions, d.Samples, d.ReferenceSamples = e.Training.BatchFunctions, e.Training.BatchSamples, least
	d.Training.Chains, d.Reference.Chains = d.Samples, least
	if _, timed := f.(family.Timed); !timed { // chains of timed families end at fixed times
		d.Training.BurnIn, d.Reference.BurnIn = 1, 1
	}
	e.Training.Steps, e.Training.CheckpointEvery = steps, steps
	e.Evaluation.Functions, e.Evaluation.Samples, e.Evaluation.MCMC = 1, least, nil
	return e, e.Validate()
}
