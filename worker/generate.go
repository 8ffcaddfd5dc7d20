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
	"github.com/ergoflow/ergoflow/internal/disk"
	"github.com/ergoflow/ergoflow/internal/flight"
)

// generate pulls jobs and makes shards until ctx ends. The queue gives a job that
// this worker does not finish to another worker. Making a shard twice is harmless. While
// the disk is full, generate waits for room. It tells waits what it waits for, and an empty
// text when it goes on.
func (w *worker) generate(ctx context.Context, order message.Generate, waits func(what string)) error {
	queue, err := jobs.Connect(order.NATS, jobs.Access{Credentials: w.trust, Files: w.natsFiles, Domain: order.NATSDomain})
	if err != nil {
		return err
	}
	defer queue.Close()
	in, err := w.shardsAt(ctx, order.Store)
	if err != nil {
		return err
	}
	for {
		err := w.makeShards(ctx, queue, order, in, waits)
		full, ok := errors.AsType[*disk.FullError](err)
		if !ok {
			return err
		}
		w.flight.Add(flight.Record{Kind: flight.Full, Value: float64(full.Bytes), Text: err.Error()})
		waits(fmt.Sprintf("%s: %v", disk.Waits, err))
		if err := disk.Await(ctx, full.Dir, full.Bytes); err != nil {
			return err
		}
		waits("")
	}
}

// makeShards pulls jobs and makes shards until ctx ends or the disk is full. Then the job
// goes to another worker, whose disk may have room.
func (w *worker) makeShards(ctx context.Context, queue *jobs.Queue, order message.Generate, in *shards, waits func(what string)) error {
	return queue.Work(ctx, order.Plan.Run, string(w.id), func(ctx context.Context, job jobs.Job) error {
		var dataset data.Dataset
		if err := json.Unmarshal(job.Dataset, &dataset); err != nil {
			return fmt.Errorf("job for shard %d: %w", job.Shard, err)
		}
		begin := time.Now()
		err := w.makeShard(ctx, dataset, job.Shard, in, waits)
		ended := func(outcome jobOutcome) {
			w.meter.count(func(c *counts) { c.jobs[outcome]++ })
			w.traceJob(order.Plan.Run, job.Shard, begin, outcome, err)
		}
		if err != nil && ctx.Err() != nil {
			ended(jobStopped)
			w.log.Info("stopped making a shard", "shard", job.Shard, "reason", context.Cause(ctx))
			return err
		}
		if err != nil {
			w.log.Warn("shard not made", "shard", job.Shard, "error", err)
			if disk.Full(err) {
				ended(jobPostponed)
				return jobs.Postpone(fmt.Errorf("shard %d: %w", job.Shard, full(err, in.dir)))
			}
			ended(jobFailed)
			if errors.Is(err, simulate.ErrDiverged) || errors.Is(err, simulate.ErrStuck) || errors.Is(err, family.ErrNoEquation) || errors.Is(err, shard.ErrLink) || errors.Is(err, data.ErrImports) { // would fail on every worker
				err = jobs.Permanent(err)
			}
			return err
		}
		ended(jobMade)
		w.log.Info("shard made", "shard", job.Shard, "simulator", w.simulator, "seconds", time.Since(begin).Seconds())
		return nil
	})
}

// makeShard makes a shard, unless the store has it.
func (w *worker) makeShard(ctx context.Context, d data.Dataset, k int, in *shards, waits func(what string)) error {
	if in.depot != nil {
		if has, err := in.depot.Has(ctx, d.Hash(), k); has || err != nil {
			return err
		}
		if err := in.fetchImports(ctx, w, d.ImportsOf(k), waits); err != nil {
			return err
		}
	}
	if err := data.Generate(ctx, d, k, in.dir, w.simulator, nil); err != nil {
		return err
	}
	return in.upload(ctx, w, d.Hash(), k, waits)
}

// full is the error of a full disk with what is needed: where the file system cannot
// reserve room, a write failed, and how much it lacked is not known.
func full(err error, store *shard.Dir) error {
	if known, ok := errors.AsType[*disk.FullError](err); ok {
		return known
	}
	return &disk.FullError{Dir: store.Root(), Bytes: unknownNeed, Err: err}
}

// unknownNeed is how much room there must be before another attempt where no more is known.
const unknownNeed = 16 << 20
