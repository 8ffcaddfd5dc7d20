package jobs

import (
	"context"
	"fmt"
)

// Depth is how many jobs of a run are in the queue.
type Depth struct {
	Waiting uint64 // that no worker has
	Out     int    // that workers have, and have not finished
	Again   int    // of those out or waiting, that were handed out before
}

// Depth asks the server how many jobs of a run it holds.
func (q *Queue) Depth(ctx context.Context, run string) (Depth, error) {
	consumer, err := q.js.Consumer(ctx, jobsStream, consumerName(run))
	if err != nil {
		return Depth{}, fmt.Errorf("jobs of run %s: %w", run, err)
	}
	info := consumer.CachedInfo() // of the request just made
	return Depth{Waiting: info.NumPending, Out: info.NumAckPending, Again: info.NumRedelivered}, nil
}
