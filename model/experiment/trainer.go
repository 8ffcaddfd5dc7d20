package experiment

import (
	"github.com/ergoflow/ergoflow/model/optim"
	"github.com/ergoflow/ergoflow/model/train"
)

// Trainer is what the graphs of a training step depend on.
func (e Experiment) Trainer() train.Config {
	return train.Config{
		Model:   e.Velocity(),
		Samples: e.Training.BatchSamples,
		Optimizer: optim.AdamW{
			WeightDecay: e.Training.WeightDecay,
			ClipNorm:    e.Training.ClipNorm,
			Schedule:    optim.OneCycle{Peak: e.Training.LearningRate, Total: int64(e.Steps())},
		},
	}
}
