package flight

import (
	"context"
	"time"
)

// interval is the time between two looks at the process.
const interval = 250 * time.Millisecond

// What counts as remarkable.
const (
	longPause = time.Second // that this process stood still
	clockJump = 500 * time.Millisecond
)

// A clocks remembers both clocks at the last look.
type clocks struct {
	wall, mono time.Duration // since the first look
	looked     bool
}

// next takes a look at the clocks and returns what is remarkable. While a process stands still
// both go on: the wall clock has not jumped.
func (c *clocks) next(wall, mono time.Duration) (found []Record) {
	passed, jump := mono-c.mono, wall-c.wall-(mono-c.mono)
	if c.looked && passed-interval >= longPause {
		found = append(found, Record{Kind: Paused, Seconds: passed.Seconds(), Text: "the process, or its machine, stood still"})
	}
	if c.looked && jump.Abs() >= clockJump {
		found = append(found, Record{Kind: Clock, Seconds: jump.Seconds(), Text: "the wall clock was set"})
	}
	*c = clocks{wall, mono, true}
	return found
}

// Watch records pauses of this process, jumps of the wall clock and want of memory, until ctx
// ends. After each it calls found, which may be nil.
func (r *Recorder) Watch(ctx context.Context, found func(Record)) {
	if r == nil {
		return
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	var c clocks
	var g gauge
	for begin := time.Now(); ; {
		now := time.Now()
		for _, e := range append(c.next(now.Round(0).Sub(begin.Round(0)), now.Sub(begin)), g.look(now)...) {
			r.Add(e)
			if found != nil {
				found(e)
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}
