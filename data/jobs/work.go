package jobs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	pullWait = 5 * time.Second // how long one request for a job waits
	backOff  = 250 * time.Millisecond
	maxError = 4 << 10 // bytes of an error's text in a result
)

// Work pulls the run's jobs one at a time and calls the handler for each, until
// ctx ends or the queue is closed; it returns ctx's error or
// nats.ErrConnectionClosed. While the server is away it tries again.
//
// The handler's context is ctx. If ctx ends while the handler runs, Work hands the job
// back at once. It gives the server a second for that: if the server is away, or if the
// process dies, the job goes to another worker after 5 s of silence. worker names the
// caller in results.
func (q *Queue) Work(ctx context.Context, run, worker string, handler func(context.Context, Job) error) error {
	if err := checkRun(run); err != nil {
		return err
	}
	var consumer jetstream.Consumer
	last := ""
	for {
		err := ctx.Err()
		if err == nil && q.conn.IsClosed() {
			err = nats.ErrConnectionClosed
		}
		if err != nil {
			return err
		}
		if consumer == nil {
			consumer, err = q.consumer(ctx, run)
		}
		if err == nil {
			err = q.workOnce(ctx, consumer, worker, handler)
		}
		if postponed, ok := errors.AsType[*postponedError](err); ok {
			return postponed.error
		}
		if err == nil || ctx.Err() != nil {
			last = ""
			continue
		}
		// The server is away or was replaced: look for the consumer again.
		consumer = nil
		if err.Error() != last {
			last = err.Error()
			slog.Warn("job queue: cannot get a job; trying again", "worker", worker, "error", err)
		}
		wait(ctx, backOff)
	}
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

// consumer finds the run's consumer, which all of its workers share. The coordinator makes it.
func (q *Queue) consumer(ctx context.Context, run string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	return q.js.Consumer(ctx, jobsStream, consumerName(run))
}

// workOnce waits for one job and does it. It returns nil if none comes.
func (q *Queue) workOnce(ctx context.Context, consumer jetstream.Consumer, worker string, handler func(context.Context, Job) error) error {
	pull, cancel := context.WithTimeout(ctx, pullWait)
	defer cancel()
	msg, err := consumer.Next(jetstream.FetchContext(pull))
	if errors.Is(err, nats.ErrTimeout) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return nil
	}
	if err != nil {
		return err
	}
	meta, err := msg.Metadata()
	if err != nil {
		return err
	}
	job, err := decodeJob(msg.Subject(), msg.Data())
	if err != nil {
		slog.Warn("job queue: dropped a message that is no job", "subject", msg.Subject(), "error", err)
		return msg.TermWithReason("not a job")
	}
	result := Result{Run: job.Run, Shard: job.Shard, Worker: worker, Attempt: int(meta.NumDelivered)}
	if result.Attempt > q.maxDeliver {
		result.Error = fmt.Sprintf("%d workers took the job and none came back", q.maxDeliver)
		last, cancel := q.last(ctx)
		defer cancel()
		return q.bury(last, msg, job, result)
	}

	begin := time.Now()
	alive := q.keepAlive(ctx, msg)
	err = handler(ctx, job)
	alive()
	result.Seconds = time.Since(begin).Seconds()

	last, cancelLast := q.last(ctx)
	defer cancelLast()
	postponed, later := errors.AsType[*postponedError](err)
	switch {
	case err == nil:
		if err := q.report(last, "done", job, result); err != nil {
			return err // redelivered, and then quickly done
		}
		return q.remove(last, msg)
	case ctx.Err() != nil, later: // the caller stopped it, or cannot do it now
		if err := q.handBack(last, msg, meta.Sequence.Stream, job); err != nil {
			slog.Warn("job queue: cannot hand a job back; another worker gets it after a silence",
				"worker", worker, "shard", job.Shard, "silence", q.ackWait, "error", err)
		}
		if later {
			return postponed
		}
		return nil
	}
	result.Error = err.Error()
	if len(result.Error) > maxError {
		result.Error = strings.ToValidUTF8(result.Error[:maxError], "") // a cut character would grow in JSON
	}
	var permanent *permanentError
	if result.Attempt >= q.maxDeliver || errors.As(err, &permanent) {
		return q.bury(last, msg, job, result)
	}
	if err := q.report(last, "failed", job, result); err != nil {
		return err
	}
	return msg.NakWithDelay(time.Duration(result.Attempt) * q.retryDelay)
}

// Permanent marks a handler's error as one that every worker would find: its job gets
// no further attempt.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

// Postpone marks a handler's error as one that its worker has for the time being, such as
// a full disk. The job goes back to the queue, and this attempt at it does not count. Work
// returns the error.
func Postpone(err error) error { return &postponedError{err} }

type postponedError struct{ error }

func (e *postponedError) Unwrap() error { return e.error }

// keepAlive tells the server that the job is in progress until the returned
// function is called.
func (q *Queue) keepAlive(ctx context.Context, msg jetstream.Msg) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var group sync.WaitGroup
	group.Go(func() {
		ticker := time.NewTicker(q.ackWait / 5)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				err := msg.InProgress()
				if errors.Is(err, nats.ErrConnectionClosed) {
					return
				}
				if err != nil { // the next report may arrive
					slog.Warn("job queue: cannot report that a job is in progress", "subject", msg.Subject(), "error", err)
				}
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		group.Wait()
	}
}

// bury makes the job a dead letter. It publishes the letter before it removes the job:
// if the worker dies between, the next delivery buries the job again.
func (q *Queue) bury(ctx context.Context, msg jetstream.Msg, job Job, result Result) error {
	result.Dead = true
	if err := q.report(ctx, "dead", job, result); err != nil {
		return err
	}
	return q.remove(ctx, msg)
}

// last is the context of the requests after a job, with which the job's outcome reaches
// the server also if ctx has ended. They share the time-out of one request, but a worker
// that is to stop does not wait that long for a server that may be gone.
func (q *Queue) last(ctx context.Context) (last context.Context, cancel func()) {
	last, end := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
	last, cut := context.WithCancelCause(last)
	stop := context.AfterFunc(ctx, func() {
		time.AfterFunc(q.parting, func() { cut(fmt.Errorf("no answer within %v", q.parting)) })
	})
	return last, func() { stop(); cut(nil); end() }
}

// handBack asks the coordinator to publish the job again, so that a worker that stops in
// order does not count as one that never came back. Until then the job is the worker's. If
// the request cannot be made, the next worker's attempt counts as a further one.
func (q *Queue) handBack(ctx context.Context, msg jetstream.Msg, sequence uint64, job Job) error {
	message, err := json.Marshal(returned{job.Run, job.Shard, sequence})
	if err != nil {
		return err
	}
	_, err = q.js.Publish(ctx, job.subject("returned"), message)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return errors.Join(err, msg.Nak(), q.conn.FlushWithContext(ctx))
	}
	return nil
}

// remove removes the job from the queue and waits for the confirmation, but not long: there is
// none for a message that the server no longer has, as after a restart in memory.
func (q *Queue) remove(ctx context.Context, msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeoutCause(ctx, q.parting, fmt.Errorf("no confirmation within %v that a job is over", q.parting))
	defer cancel()
	if err := msg.DoubleAck(ctx); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}

// report publishes a result.
func (q *Queue) report(ctx context.Context, kind string, job Job, result Result) error {
	message, err := json.Marshal(result)
	if err != nil {
		return err
	}
	if _, err = q.js.Publish(ctx, job.subject(kind), message); err != nil {
		return cmp.Or(context.Cause(ctx), err)
	}
	return nil
}
