package experiment

import (
	"github.com/ergoflow/ergoflow/model/network/velocity"
	"github.com/ergoflow/ergoflow/model/training/optim"
	"github.com/ergoflow/ergoflow/model/training/trainer"
)

// Trainer configures the graphs of a training step.
func (e Experiment) Trainer() trainer.Config {
	alternatives := e.Alternatives()
	models := make([]velocity.Model, len(alternatives))
	for i, a := range alternatives {
		models[i] = a.Velocity()
	}
	restart := int64(0)
	if h := e.LocalSteps(); h > 1 {
		restart = int64(h) // each round begins with moments of zero
	}
	return trainer.Config{
		Model: models[0], Others: models[1:],
		Samples:   e.Training.BatchSamples,
		Points:    e.Training.Points,
		Precision: e.Training.Precision,
		Optimizer: optim.AdamW{
			WeightDecay: e.Training.WeightDecay,
			ClipNorm:    e.Training.ClipNorm,
			Schedule:    optim.OneCycle{Peak: e.Training.LearningRate, Total: int64(e.Steps())},
			Restart:     restart,
		},
	}
}
