package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/data/jobs"
)

// scan finds out which shards and checkpoints of a run exist, one look at a
// time. The results of its jobs are listened to from before the look, so that
// none is missed between.
func (l *loop) scan(plan ergoflow.Plan) {
	if l.scanning {
		return
	}
	l.scanning = true
	listening := l.watched == plan.Run
	l.help(func(ctx context.Context) {
		if !listening {
			l.watch(ctx, plan)
		}
		result := machine.Scanned{Run: plan.Run}
		for k := range plan.Shards + 1 {
			if ctx.Err() != nil {
				return
			}
			if l.store.Has(plan.Dataset, k) {
				result.Present = append(result.Present, k)
			}
		}
		info, ok := l.newest(plan.Run)
		result.HasCheckpoint, result.Checkpoint = ok, info.Mark()
		l.do(func() {
			l.scanning = false
			l.step(result)
		})
	})
}

// newest returns the most advanced checkpoint of a run that can be read.
func (l *loop) newest(run string) (checkpoint.Info, bool) {
	all, err := l.saved.Run(run)
	if err != nil {
		l.log.Warn("checkpoints cannot be listed", "error", err)
	}
	for _, info := range all {
		if l.readable.Load() == info.ID {
			return info, true
		}
		if _, _, err := l.saved.Read(info.ID); err == nil {
			l.readable.Store(info.ID)
			return info, true
		} else {
			l.log.Warn("a checkpoint is passed over", "id", info.ID, "error", err)
		}
	}
	return checkpoint.Info{}, false
}

// watch listens to the results of a run's jobs from now on, and no longer to
// those of another run.
func (l *loop) watch(ctx context.Context, plan ergoflow.Plan) {
	ctx, cancel := context.WithCancel(ctx)
	results, err := l.queue.Results(ctx, plan.Run)
	if err != nil {
		cancel()
		l.log.Warn("job results are not heard; the store is looked at instead", "error", err)
		return
	}
	taken := l.do(func() {
		if l.unwatch != nil {
			l.unwatch()
		}
		l.watched, l.unwatch = plan.Run, cancel
	})
	if !taken {
		cancel()
	}
	l.help(func(context.Context) {
		for r := range results {
			l.result(plan, r)
		}
	})
}

// result passes on what became of a job.
func (l *loop) result(plan ergoflow.Plan, r jobs.Result) {
	switch {
	case r.Dead:
		l.post(machine.Dead{Run: r.Run, Shard: r.Shard, Reason: fmt.Sprintf("%s (on %s, attempt %d)", r.Error, r.Worker, r.Attempt)})
	case r.Error != "":
		l.log.Warn("a job failed and will be tried again", "shard", r.Shard, "worker", r.Worker, "attempt", r.Attempt, "error", r.Error)
	case l.store.Has(plan.Dataset, r.Shard):
		l.post(machine.Generated{Run: r.Run, Shard: r.Shard})
	default:
		l.post(machine.Unpublished{Run: r.Run, Shards: []int{r.Shard}, Reason: fmt.Sprintf(
			"%s is done with shard %d, which is not in the store %s: do workers see the same directory?", r.Worker, r.Shard, l.store.Root())})
	}
}

// publish puts jobs into the queue.
func (l *loop) publish(plan ergoflow.Plan, shards []int) {
	l.help(func(ctx context.Context) {
		list, err := makeJobs(plan, shards)
		if err == nil {
			err = l.queue.Publish(ctx, list)
		}
		if err != nil && ctx.Err() == nil {
			l.post(machine.Unpublished{Run: plan.Run, Shards: shards, Reason: err.Error()})
		}
	})
}

// jobsArePossible reports a plan of which no queue takes the jobs: it would wait for
// its shards for ever.
func jobsArePossible(plan ergoflow.Plan) error {
	list, err := makeJobs(plan, []int{0})
	if err != nil {
		return err
	}
	return list[0].Validate()
}

// makeJobs takes the data's description out of the configuration, the only part
// of it that is looked at here.
func makeJobs(plan ergoflow.Plan, shards []int) ([]jobs.Job, error) {
	var config struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(plan.Config, &config); err != nil {
		return nil, fmt.Errorf("configuration of run %s: %w", plan.Run, err)
	}
	if config.Data == nil {
		return nil, errors.New("the configuration says nothing of data")
	}
	list := make([]jobs.Job, len(shards))
	for i, k := range shards {
		list[i] = jobs.Job{Run: plan.Run, Shard: k, Dataset: config.Data}
	}
	return list, nil
}
