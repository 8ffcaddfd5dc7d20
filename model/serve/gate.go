package serve

import (
	"context"
	"errors"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// errBusy means that too many requests wait already.
var errBusy = errors.New("too many requests wait")

// gate bounds what is computed at once, and how many requests may wait for that. Requests weigh
// what they need: the numbers of their samples.
type gate struct {
	room    *semaphore.Weighted
	waiting atomic.Int64
	most    int64
}

func newGate(room, waiting int64) *gate {
	return &gate{room: semaphore.NewWeighted(room), most: waiting}
}

// enter waits for room. The caller calls leave in the end.
func (g *gate) enter(ctx context.Context, weight int64) (leave func(), err error) {
	if !g.room.TryAcquire(weight) {
		if g.waiting.Add(1) > g.most {
			g.waiting.Add(-1)
			return nil, errBusy
		}
		err := g.room.Acquire(ctx, weight)
		g.waiting.Add(-1)
		if err != nil {
			return nil, err
		}
	}
	return func() { g.room.Release(weight) }, nil
}
