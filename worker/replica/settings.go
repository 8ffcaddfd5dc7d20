package replica

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow"
)

// settings are what the run's hash leaves out, and may change while the replica has a training
// state.
type settings struct {
	plan       ergoflow.Plan
	microBatch int // functions; 0: no bound
}

// Serves reports whether this replica can serve a plan, perhaps after Adopt. The run must be the
// same. Where settings differ that its hash leaves out, a replica without a training state had
// better be opened again: Open checks the memory that they need.
func (r *Replica) Serves(plan ergoflow.Plan) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	present := r.Plan()
	return present.Run == plan.Run && (r.hasState || present.EqualSettings(plan))
}

// Adopt takes the settings of the plan in c, which is one of the same run, and compiles what they
// need. Of c it needs no Store. The training state stays as it is, and is worth more than the
// size of a micro-batch: where the new size needs too much memory, or cannot be compiled, the
// replica keeps the old one and warns. No Batches may be running.
func (r *Replica) Adopt(ctx context.Context, c Config) error {
	before := r.settings.Load()
	switch {
	case c.Plan.Run != r.plan.Run:
		return fmt.Errorf("a replica of run %.12s cannot take the settings of run %.12s", r.plan.Run, c.Plan.Run)
	case before.plan.EqualSettings(c.Plan):
		return nil
	}
	exp, err := parse(c.Plan)
	if err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settings.Store(&settings{c.Plan, exp.Training.MicroBatch})
	err = r.checkMemory(c)
	if err == nil {
		err = r.precompile(ctx)
	}
	switch {
	case ctx.Err() != nil:
		r.settings.Store(before)
		return err
	case err != nil:
		c.Log.Warn("the worker keeps the size of its micro-batches", "functions", before.microBatch, "refused", exp.Training.MicroBatch, "error", err)
		r.settings.Store(&settings{c.Plan, before.microBatch})
	}
	return nil
}
