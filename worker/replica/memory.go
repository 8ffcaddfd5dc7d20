package replica

import (
	"fmt"

	"github.com/ergoflow/ergoflow/internal/memory"
)

// roomy is a multiple of the estimate of trainer.Config.Memory with which no worker that was
// measured was short of memory.
const roomy = 1.5

// checkMemory fails where this process may not use the memory that half of the run's shards
// need: a step of them warms the replica up. It warns where there may be too little for all of
// them, which this worker has to take when the others leave.
func (r *Replica) checkMemory(c Config) error {
	needs := func(shards int, multiple float64) error {
		what := fmt.Sprintf("a worker on %s with %d of the %d shards of run %.12s", c.Backend.Name, shards, r.plan.Shards, c.Plan.Run)
		estimate := r.experiment.Trainer().Memory(c.Backend.Name, shards*r.batchPlan.FunctionsPerStep())
		return memory.Check(what, uint64(multiple*float64(estimate)))
	}
	all := r.maxMicroBatch()
	if err := needs(min(all, (r.plan.Shards+1)/2), 1); err != nil {
		return err
	}
	if err := needs(all, roomy); err != nil {
		c.Log.Warn("there may be too little memory for all shards, which this worker takes when the others leave", "error", err)
	}
	return nil
}
