package experiment

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/backend"
	"github.com/ergoflow/ergoflow/model/flow"
	"github.com/ergoflow/ergoflow/model/train"
)

// Benchmark measures that many training steps of one worker on the experiment's
// functions, with noise for their samples.
func (e Experiment) Benchmark(ctx context.Context, b *backend.Backend, steps int) (train.Measurement, error) {
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return train.Measurement{}, fmt.Errorf("data.family: %w", err)
	}
	return train.Benchmark(ctx, b, train.Workload{
		Experiment: e.Name, Config: e.Trainer(), Coupling: e.Training.Coupling, Functions: e.Training.BatchFunctions,
		MicroBatch: e.Training.MicroBatch,
		Fields:     f.Fields(),
		Function: func(i int) ([][]float32, error) {
			function, err := f.Function(e.Data.Seed, i)
			return function.Fields, err
		},
		Conditioner: func(n shard.Normalisation) (flow.Conditioner, error) {
			if e.Probes != nil {
				var err error
				if n, err = e.Normalisation(ctx, nil); err != nil {
					return nil, err
				}
			}
			return e.Alternatives()[0].Conditioner(n) // of Config.Model
		},
	}, steps)
}
