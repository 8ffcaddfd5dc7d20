package wire

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

// Bounds on what a plan may ask for.
const (
	maxShards      = 1 << 16
	maxPlanText    = 256
	maxConfigBytes = 1 << 20
)

// ErrPlan means that a plan from the wire is not one.
var ErrPlan = errors.New("invalid plan")

// PlanOf is the plan as a message.
func PlanOf(p ergoflow.Plan) *Plan {
	return &Plan{
		Run:             p.Run,
		Experiment:      p.Experiment,
		Dataset:         p.Dataset,
		Shards:          uint32(p.Shards),
		Groups:          uint32(p.Groups),
		Steps:           int64(p.Steps),
		CheckpointEvery: int64(p.CheckpointEvery),
		Config:          p.Config,
	}
}

// Checked is the message as a plan; what is out of range is ErrPlan.
func (p *Plan) Checked() (ergoflow.Plan, error) {
	switch {
	case p == nil:
		return ergoflow.Plan{}, fmt.Errorf("%w: there is none", ErrPlan)
	case p.Run == "" || len(p.Run) > maxPlanText || p.Dataset == "" || len(p.Dataset) > maxPlanText || len(p.Experiment) > maxPlanText:
		return ergoflow.Plan{}, fmt.Errorf("%w: run and dataset must be 1 to %d characters", ErrPlan, maxPlanText)
	case p.Shards < 1 || p.Shards > maxShards:
		return ergoflow.Plan{}, fmt.Errorf("%w: %d shards, not in 1…%d", ErrPlan, p.Shards, maxShards)
	case p.Groups > p.Shards:
		return ergoflow.Plan{}, fmt.Errorf("%w: %d groups of %d shards", ErrPlan, p.Groups, p.Shards)
	case p.Steps < 0 || p.CheckpointEvery < 0:
		return ergoflow.Plan{}, fmt.Errorf("%w: negative number of steps", ErrPlan)
	case len(p.Config) > maxConfigBytes:
		return ergoflow.Plan{}, fmt.Errorf("%w: configuration of %d bytes, more than %d", ErrPlan, len(p.Config), maxConfigBytes)
	}
	return ergoflow.Plan{
		Run:             p.Run,
		Experiment:      p.Experiment,
		Dataset:         p.Dataset,
		Shards:          int(p.Shards),
		Groups:          int(p.Groups),
		Steps:           ergoflow.Step(p.Steps),
		CheckpointEvery: ergoflow.Step(p.CheckpointEvery),
		Config:          p.Config,
	}, nil
}
