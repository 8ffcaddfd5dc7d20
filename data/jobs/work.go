package jobs

import (
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
	pullWait = 5 * time.Second // one request for a job waits so long
	idle     = 24 * time.Hour  // a run's consumer without workers is removed
	backOff  = 250 * time.Millisecond
	maxError = 4 << 10 // bytes of an error's text in a result
)

// Work pulls the run's jobs one at a time and calls the handler for each, until
// the context ends or the queue is closed; it returns the context's error or
// nats.ErrConnectionClosed. While the server is away it keeps asking.
//
// The handler's context is ctx. If ctx ends while the handler is at work, the
// job goes back at once; if the process dies, the server redelivers the job
// when it has not heard of it for 5 seconds. worker names the caller in results.
func (q *Queue) Work(ctx context.Context, run, worker string, handler func(context.Context, Job) error) error {
	if err := checkRun(run); err != nil {
		return err
	}
	var consumer jetstream.Consumer
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
		if err == nil || ctx.Err() != nil {
			continue
		}
		// The server is away or was replaced; begin anew when it is back.
		consumer = nil
		slog.Warn("job queue", "worker", worker, "error", err)
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

// consumer is the run's, which all of its workers share.
func (q *Queue) consumer(ctx context.Context, run string) (jetstream.Consumer, error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	return q.js.CreateOrUpdateConsumer(ctx, jobsStream, jetstream.ConsumerConfig{
		Durable:       "run-" + run,
		FilterSubject: subject("jobs", run, "*"),
		AckPolicy:     jetstream.AckExplicitPolicy,
		AckWait:       q.ackWait,
		// Unlimited here: workers count, because a message at the server's
		// limit would stay in the queue, undelivered, without a reason.
		MaxDeliver:        -1,
		MaxAckPending:     -1,
		InactiveThreshold: idle,
	})
}

// workOnce waits for one job and does it. No job is no error.
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
		return q.bury(ctx, msg, job, result)
	}

	begin := time.Now()
	alive := q.keepAlive(ctx, msg)
	err = handler(ctx, job)
	alive()
	result.Seconds = time.Since(begin).Seconds()

	switch {
	case err == nil:
		if err := q.report(ctx, "done", job, result); err != nil {
			return err // redelivered, and then quickly done
		}
		return q.remove(ctx, msg)
	case ctx.Err() != nil: // not the job's fault
		return q.handBack(ctx, msg, meta.Sequence.Stream, job)
	}
	result.Error = err.Error()
	if len(result.Error) > maxError {
		result.Error = strings.ToValidUTF8(result.Error[:maxError], "") // a cut character would grow in JSON
	}
	var permanent *permanentError
	if result.Attempt >= q.maxDeliver || errors.As(err, &permanent) {
		return q.bury(ctx, msg, job, result)
	}
	if err := q.report(ctx, "failed", job, result); err != nil {
		return err
	}
	return msg.NakWithDelay(time.Duration(result.Attempt) * q.retryDelay)
}

// Permanent marks a handler's error as one that every worker would come to: its job
// is not tried again.
func Permanent(err error) error { return &permanentError{err} }

type permanentError struct{ error }

func (e *permanentError) Unwrap() error { return e.error }

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
				if err != nil { // the next one may pass
					slog.Warn("job queue: in progress", "subject", msg.Subject(), "error", err)
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

// bury makes the job a dead letter. The letter comes first: if the worker dies
// now, the job is redelivered and buried again.
func (q *Queue) bury(ctx context.Context, msg jetstream.Msg, job Job, result Result) error {
	result.Dead = true
	if err := q.report(ctx, "dead", job, result); err != nil {
		return err
	}
	return q.remove(ctx, msg)
}

// handBack puts the job into the queue anew, so that a worker that gives it up
// alive does not count as one that never came back, and takes the old message
// out. The new one comes first: if the worker dies between, the job is done twice.
func (q *Queue) handBack(ctx context.Context, msg jetstream.Msg, sequence uint64, job Job) error {
	bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
	defer cancel()
	_, err := q.js.Publish(bounded, msg.Subject(), msg.Data(), jetstream.WithExpectLastSequencePerSubject(sequence))
	if err != nil {
		return errors.Join(fmt.Errorf("hand back the job for shard %d: %w", job.Shard, err), msg.Nak(), q.conn.FlushTimeout(q.timeout))
	}
	return q.remove(ctx, msg)
}

// remove takes the job out of the queue and waits until it is out, also when
// ctx has ended.
func (q *Queue) remove(ctx context.Context, msg jetstream.Msg) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
	defer cancel()
	return msg.DoubleAck(ctx)
}

// report publishes a result, also when ctx has ended: the work is done.
func (q *Queue) report(ctx context.Context, kind string, job Job, result Result) error {
	message, err := json.Marshal(result)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), q.timeout)
	defer cancel()
	_, err = q.js.Publish(ctx, job.subject(kind), message)
	return err
}
