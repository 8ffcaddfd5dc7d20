package replica

import (
	"fmt"

	"github.com/ergoflow/ergoflow/internal/memory"
)

// checkMemory fails where this process may not use the memory that half of the run's shards
// need: a step of them warms the replica up. It warns where the rest would not fit, which this
// worker has to take when the others leave.
func (r *Replica) checkMemory(c Config) error {
	all := r.maxMicroBatch()
	half := min(all, (r.plan.Shards+1)/2)
	needs := func(shards int) error {
		what := fmt.Sprintf("a worker on %s with %d of the %d shards of run %.12s", c.Backend.Name, shards, r.plan.Shards, c.Plan.Run)
		return memory.Check(what, r.experiment.Trainer().Memory(c.Backend.Name, shards*r.batchPlan.FunctionsPerStep()))
	}
	if err := needs(half); err != nil {
		return err
	}
	if err := needs(all); err != nil {
		c.Log.Warn("if the other workers leave, this one has too little memory for their shards", "error", err)
	}
	return nil
}
