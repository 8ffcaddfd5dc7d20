package convert

import (
	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
)

// Plan converts a plan, whatever its numbers are: see ergoflow.Plan.Validate.
func Plan(p *wire.Plan) ergoflow.Plan {
	return ergoflow.Plan{
		Run:             p.GetRun(),
		Experiment:      p.GetExperiment(),
		Dataset:         p.GetDataset(),
		Shards:          int(p.GetShards()),
		Groups:          int(p.GetGroups()),
		Steps:           ergoflow.Step(p.GetSteps()),
		CheckpointEvery: ergoflow.Step(p.GetCheckpointEvery()),
		Config:          p.GetConfig(),
		Start:           p.GetStart(),
	}
}

// PlanToWire converts a plan to a message.
func PlanToWire(p ergoflow.Plan) *wire.Plan {
	return &wire.Plan{
		Run:             p.Run,
		Experiment:      p.Experiment,
		Dataset:         p.Dataset,
		Shards:          uint32(p.Shards),
		Groups:          uint32(p.Groups),
		Steps:           int64(p.Steps),
		CheckpointEvery: int64(p.CheckpointEvery),
		Config:          p.Config,
		Start:           p.Start,
	}
}
