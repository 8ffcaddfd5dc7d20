package coordinator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/checkpoint"
	"github.com/ergoflow/ergoflow/coordinator/fleet"
	"github.com/ergoflow/ergoflow/coordinator/journal"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/data/jobs"
)

// scan finds out which shards and checkpoints of a run exist, one scan of the run at a time.
// It subscribes to the results of the run's jobs before it scans, so that it misses none.
func (l *loop) scan(plan ergoflow.Plan) {
	if l.scanning[plan.Run] {
		return
	}
	l.scanning[plan.Run] = true
	l.unwatch()
	_, listening := l.watched[plan.Run]
	underWay, begun := l.publishing[plan.Run]
	l.help(func(ctx context.Context) {
		if !listening {
			l.watch(ctx, plan)
		}
		result := machine.Scanned{Run: plan.Run}
		var err error
		queued := -1 // not known, or jobs are being published
		if begun && underWay == 0 {
			queued = l.queued(ctx, plan.Run)
		}
		if result.Present, err = l.presentShards(ctx, plan.Dataset, plan.Shards+1); err != nil {
			return
		}
		if l.gather(ctx, plan.Run) != nil {
			return
		}
		if l.restore(ctx, plan.Run) != nil {
			return
		}
		info, ok := l.newest(plan.Run)
		result.HasCheckpoint, result.Checkpoint = ok, info.Mark()
		l.do(func() {
			delete(l.scanning, plan.Run)
			if lost := lost(plan, result.Present, queued); l.again(plan.Run, len(lost) > 0) {
				l.step(machine.Unpublished{Run: plan.Run, Shards: lost, Reason: fmt.Sprintf("the queue has %d jobs for %d missing shards: its server has lost some", queued, len(lost))})
			}
			l.step(result)
		})
	})
}

// queued asks how many jobs of a run the queue has; -1: it does not say. Ask before a look at the
// store: a job goes once its shard is there.
func (l *loop) queued(ctx context.Context, run string) int {
	ctx, cancel := context.WithTimeout(ctx, depthWait)
	defer cancel()
	depth, err := l.queue.Depth(ctx, run)
	if err != nil {
		return -1
	}
	return int(min(depth.Waiting, ergoflow.MaxShards)) + depth.Out
}

// again reports whether the queue had too few jobs of a run at the last look, too. Once is not
// enough: a server counts new jobs a moment later.
func (l *loop) again(run string, few bool) bool {
	before := l.few[run]
	delete(l.few, run)
	if few && !before {
		l.few[run] = true
	}
	return few && before
}

// lost are the missing shards of a plan, where the queue has fewer jobs. Which of them have none it
// does not say, and it leaves those that have one.
func lost(plan ergoflow.Plan, present []int, queued int) []int {
	missing := plan.Shards + 1 - len(present)
	if queued < 0 || queued >= missing {
		return nil
	}
	there := make(map[int]bool, len(present))
	for _, k := range present {
		there[k] = true
	}
	all := make([]int, 0, missing)
	for k := range plan.Shards + 1 {
		if !there[k] {
			all = append(all, k)
		}
	}
	return all
}

// unwatch ends the subscriptions to results of runs that are no longer conducted, and forgets
// their checkpoints.
func (l *loop) unwatch() {
	conducted := l.fleet.Conducting()
	l.readable.Range(func(run, _ any) bool {
		if !slices.ContainsFunc(conducted, func(c fleet.Conducted) bool { return c.Plan.Run == run }) {
			l.readable.Delete(run)
		}
		return true
	})
	for run, cancel := range l.watched {
		if !slices.ContainsFunc(conducted, func(c fleet.Conducted) bool { return c.Plan.Run == run && !c.Ended }) {
			cancel()
			delete(l.watched, run)
			delete(l.publishing, run)
			delete(l.few, run)
		}
	}
}

// newest returns the most advanced checkpoint of a run that can be read.
func (l *loop) newest(run string) (checkpoint.Info, bool) {
	all, err := l.saved.Run(run)
	if err != nil {
		l.about(journal.Checkpoint).Warn("cannot list the checkpoints", "error", err)
	}
	for _, info := range all {
		if known, _ := l.readable.Load(run); known == info.ID {
			return info, true
		}
		_, _, err := l.saved.Read(info.ID)
		if err == nil {
			l.readable.Store(run, info.ID)
			return info, true
		}
		l.about(journal.Checkpoint).Warn("skipping a checkpoint that cannot be read", "id", info.ID, "error", err)
	}
	return checkpoint.Info{}, false
}

// watch subscribes to the results of a run's jobs.
func (l *loop) watch(ctx context.Context, plan ergoflow.Plan) {
	ctx, cancel := context.WithCancel(ctx)
	results, err := l.queue.Results(ctx, plan.Run)
	if err != nil {
		cancel()
		l.about(journal.Data).Warn("cannot subscribe to job results; scanning the store instead", "error", err)
		return
	}
	taken := l.do(func() { l.watched[plan.Run] = cancel })
	if !taken {
		cancel()
	}
	l.help(func(context.Context) {
		for r := range results {
			l.result(ctx, plan, r)
		}
	})
}

// result reports a job's outcome to the machine.
func (l *loop) result(ctx context.Context, plan ergoflow.Plan, r jobs.Result) {
	has, err := false, error(nil)
	if r.Error == "" {
		has, err = l.store.Has(ctx, plan.Dataset, r.Shard)
	}
	switch {
	case r.Dead:
		l.tallies.add(func(sum *tally) { sum.jobsDead++ })
		l.post(machine.Dead{Run: r.Run, Shard: r.Shard, Reason: fmt.Sprintf("%s (on %s, attempt %d)", r.Error, r.Worker, r.Attempt)})
	case r.Error != "":
		l.tallies.add(func(sum *tally) { sum.jobsAgain++ })
		l.about(journal.Data).Warn("a job failed; the queue hands it out again", "shard", r.Shard, "worker", r.Worker, "attempt", r.Attempt, "error", r.Error)
	case has:
		l.post(machine.Generated{Run: r.Run, Shard: r.Shard})
	case err != nil:
		l.post(machine.Unpublished{Run: r.Run, Shards: []int{r.Shard}, Reason: fmt.Sprintf("%s is done with shard %d, and the store does not answer: %v", r.Worker, r.Shard, err)})
	default:
		l.post(machine.Unpublished{Run: r.Run, Shards: []int{r.Shard}, Reason: fmt.Sprintf(
			"%s is done with shard %d, which is not in %s: do all machines see the same directory?", r.Worker, r.Shard, l.store)})
	}
}

// publish puts jobs into the queue.
func (l *loop) publish(plan ergoflow.Plan, shards []int) {
	l.publishing[plan.Run]++
	l.help(func(ctx context.Context) {
		defer l.do(func() {
			if _, conducted := l.publishing[plan.Run]; conducted {
				l.publishing[plan.Run]--
			}
		})
		list, err := makeJobs(plan, shards)
		if err == nil {
			err = l.queue.Publish(ctx, list)
		}
		if err != nil && ctx.Err() == nil {
			l.post(machine.Unpublished{Run: plan.Run, Shards: shards, Reason: err.Error()})
		}
	})
}

// validateJobs reports a plan whose jobs no queue accepts: its run would wait for its
// shards for ever.
func validateJobs(plan ergoflow.Plan) error {
	list, err := makeJobs(plan, []int{0})
	if err != nil {
		return err
	}
	return list[0].Validate()
}

// makeJobs makes the jobs of shards. Of the configuration it reads the description of the
// data alone.
func makeJobs(plan ergoflow.Plan, shards []int) ([]jobs.Job, error) {
	var config struct {
		Data json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(plan.Config, &config); err != nil {
		return nil, fmt.Errorf("configuration of run %s: %w", plan.Run, err)
	}
	if config.Data == nil {
		return nil, errors.New("the configuration has no field data")
	}
	list := make([]jobs.Job, len(shards))
	for i, k := range shards {
		list[i] = jobs.Job{Run: plan.Run, Shard: k, Dataset: config.Data}
	}
	return list, nil
}
