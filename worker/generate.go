package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/jobs"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// generate pulls jobs and makes shards until ctx ends. The queue gives a job that
// this worker does not finish to another worker. Making a shard twice is harmless.
func (w *worker) generate(ctx context.Context, order message.Generate) error {
	queue, err := jobs.Connect(order.NATS)
	if err != nil {
		return err
	}
	defer queue.Close()
	store := shard.NewDir(order.Store)
	return queue.Work(ctx, order.Plan.Run, string(w.id), func(ctx context.Context, job jobs.Job) error {
		var dataset data.Dataset
		if err := json.Unmarshal(job.Dataset, &dataset); err != nil {
			return fmt.Errorf("job for shard %d: %w", job.Shard, err)
		}
		begin := time.Now()
		err := data.Generate(ctx, dataset, job.Shard, store, w.simulator, nil)
		if err != nil && ctx.Err() != nil {
			w.log.Info("stopped making a shard", "shard", job.Shard, "reason", context.Cause(ctx))
			return err
		}
		if err != nil {
			w.log.Warn("shard not made", "shard", job.Shard, "error", err)
			if errors.Is(err, simulate.ErrDiverged) || errors.Is(err, family.ErrNoEquation) || errors.Is(err, shard.ErrLink) { // would fail on every worker
				err = jobs.Permanent(err)
			}
			return err
		}
		w.log.Info("shard made", "shard", job.Shard, "simulator", w.simulator, "seconds", time.Since(begin).Seconds())
		return nil
	})
}
