package jobs

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"github.com/nats-io/nats.go/jetstream"
)

// Results delivers the results of a run that are published from this call on. Call it
// before listing the store and publishing the missing jobs, so that none is lost. A job
// that was interrupted between result and acknowledgement has two results. The channel
// is closed when ctx ends or the queue is closed.
//
// Until then workers can take the run's jobs, and those that they give back are published
// again.
func (q *Queue) Results(ctx context.Context, run string) (<-chan Result, error) {
	if err := checkRun(run); err != nil {
		return nil, err
	}
	messages, returns, err := q.subscribe(ctx, run)
	if err != nil {
		return nil, fmt.Errorf("results of run %s: %w", run, err)
	}
	ctx, cancel := context.WithCancel(ctx)
	go q.keepOffering(ctx, run)
	go q.takeBack(ctx, run, returns)
	results := make(chan Result)
	stop := context.AfterFunc(ctx, messages.Stop)
	go func() {
		defer close(results)
		defer cancel()
		defer messages.Stop()
		defer stop()
		for {
			msg, err := messages.Next()
			if errors.Is(err, jetstream.ErrMsgIteratorClosed) || ctx.Err() != nil {
				return
			}
			if err != nil { // the consumer recreates itself
				slog.Warn("job queue: cannot read results; trying again", "run", run, "error", err)
				wait(ctx, backOff)
				continue
			}
			result, err := decodeResult(run, msg.Data())
			if err != nil {
				slog.Warn("job queue: dropped a message that is no result", "subject", msg.Subject(), "error", err)
				continue
			}
			select {
			case results <- result:
			case <-ctx.Done():
				return
			}
		}
	}()
	return results, nil
}

// subscribe begins after the last present result, and with the first job that was given back.
func (q *Queue) subscribe(ctx context.Context, run string) (results, returns jetstream.MessagesContext, err error) {
	ctx, cancel := context.WithTimeout(ctx, q.timeout)
	defer cancel()
	if err := q.offer(ctx, run); err != nil {
		return nil, nil, err
	}
	stream, err := q.js.Stream(ctx, resultsStream)
	if err != nil {
		return nil, nil, err
	}
	results, err = messages(ctx, stream, jetstream.OrderedConsumerConfig{
		FilterSubjects: []string{subject("done", run, "*"), subject("failed", run, "*"), subject("dead", run, "*")},
		DeliverPolicy:  jetstream.DeliverByStartSequencePolicy,
		OptStartSeq:    stream.CachedInfo().State.LastSeq + 1,
	})
	if err != nil {
		return nil, nil, err
	}
	returns, err = messages(ctx, stream, jetstream.OrderedConsumerConfig{FilterSubjects: []string{subject("returned", run, "*")}})
	if err != nil {
		results.Stop()
		return nil, nil, err
	}
	return results, returns, nil
}

func messages(ctx context.Context, stream jetstream.Stream, c jetstream.OrderedConsumerConfig) (jetstream.MessagesContext, error) {
	consumer, err := stream.OrderedConsumer(ctx, c)
	if err != nil {
		return nil, err
	}
	return consumer.Messages()
}
