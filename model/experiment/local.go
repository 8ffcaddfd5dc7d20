package experiment

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/model/training/optim"
)

// maxLocalSteps bounds a round: what a worker learns in it is lost with the worker.
const maxLocalSteps = 1000

// LocalSteps is H, the number of steps that each worker takes by itself before the workers
// average what they have learned; 1: every gradient is summed over the workers.
func (e Experiment) LocalSteps() int { return max(e.Training.SyncEvery, 1) }

// Outer is the optimizer of the shared parameters with local steps, with the constants of DiLoCo.
func (e Experiment) Outer() optim.Outer { return optim.Outer{Rate: 0.7, Momentum: 0.9} }

// localStepsFit reports settings that local steps exclude. Steps and checkpoints are at the ends
// of rounds, where the workers have one state.
func (e Experiment) localStepsFit() error {
	h, t := e.LocalSteps(), e.Training
	refuse := func(want string) error { return &FieldError{"training.sync_every", h, want} }
	switch {
	case h == 1:
		return nil
	case e.Distillation != nil:
		return refuse("1 for a distilled network, which one process trains")
	case t.Reproducible:
		return refuse("1 where training is reproducible: what a worker learns by itself depends on which shards it has")
	case e.Steps()%h != 0:
		return refuse(fmt.Sprintf("a divisor of the number of updates (%d); set training.steps to a multiple", e.Steps()))
	case t.CheckpointEvery%h != 0:
		return refuse(fmt.Sprintf("a divisor of training.checkpoint_every (%d)", t.CheckpointEvery))
	case h*e.Data.Shards > ergoflow.MaxShards:
		return refuse(fmt.Sprintf("at most %d with %d shards: the ledger's record of a round is one message", ergoflow.MaxShards/e.Data.Shards, e.Data.Shards))
	}
	return nil
}
