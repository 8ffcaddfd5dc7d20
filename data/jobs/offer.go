package jobs

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/ergoflow/ergoflow"
)

const (
	idle    = 24 * time.Hour   // after which the server removes a run's consumer without workers
	renewal = 10 * time.Second // between looks whether it did
	// maxWaiting bounds the workers that wait for a job of a run. The coordinator asks MaxWorld at most
	// to make shards; requests of workers that have stopped count until they expire. A
	// server's default is 512.
	maxWaiting = 2 * ergoflow.MaxWorld
)

func consumerName(run string) string { return "run-" + run }

// offer makes the run's consumer, of which its workers take jobs. Done again it changes nothing.
func (q *Queue) offer(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	waiting := maxWaiting
	if old, err := q.js.Consumer(ctx, jobsStream, consumerName(run)); err == nil {
		waiting = old.CachedInfo().Config.MaxWaiting // a server does not change it
	}
	_, err := q.js.CreateOrUpdateConsumer(ctx, jobsStream, jetstream.ConsumerConfig{
		Durable:       consumerName(run),
		FilterSubject: subject("jobs", run, "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       q.ackWait,
		// Unlimited here, because workers count the deliveries: a message at the
		// server's limit would stay in the queue, undelivered, without a reason.
		MaxDeliver:        -1,
		MaxAckPending:     -1,
		MaxWaiting:        waiting,
		InactiveThreshold: idle,
	})
	return err
}

// keepOffering makes the run's consumer again where it has gone, until ctx ends, and the streams
// where a server has lost these. The jobs in them are published again by who counts them: Depth.
func (q *Queue) keepOffering(ctx context.Context, run string) {
	for {
		wait(ctx, renewal)
		if ctx.Err() != nil {
			return
		}
		err := q.offer(ctx, run)
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			slog.Warn("job queue: the server has lost the streams; making them again", "run", run)
			if err = q.makeStreams(ctx); err == nil {
				err = q.offer(ctx, run)
			}
		}
		if err != nil && ctx.Err() == nil {
			slog.Warn("job queue: workers may find no jobs; trying again", "run", run, "error", err)
		}
	}
}

// returned is what a worker publishes that stops in order and gives its job back.
type returned struct {
	Run      string `json:"run"`
	Shard    int    `json:"shard"`
	Sequence uint64 `json:"sequence"` // of the job's message
}

// takeBack publishes the jobs of a run again that workers give back, also those that they gave
// back before this call, until ctx ends. Workers may not publish jobs themselves.
func (q *Queue) takeBack(ctx context.Context, run string, messages jetstream.MessagesContext) {
	defer messages.Stop()
	defer context.AfterFunc(ctx, messages.Stop)()
	for {
		msg, err := messages.Next()
		if errors.Is(err, jetstream.ErrMsgIteratorClosed) || ctx.Err() != nil {
			return
		}
		if err == nil {
			err = q.takeOneBack(ctx, run, msg)
		}
		if err != nil && ctx.Err() == nil { // another worker gets the job after a silence
			slog.Warn("job queue: cannot take a job back", "run", run, "error", err)
			wait(ctx, backOff)
		}
	}
}

// takeOneBack publishes the job before it deletes the old message: if the process dies
// between, the job is done twice. The text of the job is the old message's, since a worker
// decides neither what a job is nor that there is one.
func (q *Queue) takeOneBack(ctx context.Context, run string, msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	jobs, err := q.js.Stream(ctx, jobsStream)
	if err != nil {
		return err
	}
	results, err := q.js.Stream(ctx, resultsStream)
	if err != nil {
		return err
	}
	if r, err := decodeReturn(run, msg.Data()); err != nil {
		slog.Warn("job queue: dropped a message that returns no job", "subject", msg.Subject(), "error", err)
	} else if err := q.republish(ctx, jobs, r); err != nil {
		return err
	}
	_ = results.DeleteMsg(ctx, meta.Sequence.Stream) // the worker may have replaced it already
	return nil
}

// republish replaces the message of a job, unless it is done or was replaced already.
func (q *Queue) republish(ctx context.Context, jobs jetstream.Stream, r returned) error {
	job, err := jobs.GetMsg(ctx, r.Sequence)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	if own := (Job{Run: r.Run, Shard: r.Shard}).subject("jobs"); job.Subject != own {
		return nil
	}
	published, err := q.publishAfter(ctx, job.Subject, job.Data, r.Sequence)
	if err != nil || !published {
		return err
	}
	_ = jobs.DeleteMsg(ctx, r.Sequence) // another worker may have done it already
	return nil
}
