package simulation

import (
	"time"

	"github.com/ergoflow/ergoflow/coordinator/machine"
)

// fleetChecker checks how workers are spread over several runs.
type fleetChecker struct {
	quietSince  time.Duration // the last event that may make workers move
	unfairSince time.Duration // zero: it is fair
	looked      time.Duration
	alive       int
	ended       int
}

const (
	// quietTime is how long workers may still move after the last fault, or after a run has
	// ended.
	quietTime = 15 * time.Second
	// unfairTime is how long the numbers of workers may be uneven: one moves at a time.
	unfairTime = 8 * time.Second
	// lookTime is between two looks at the numbers, which are slow.
	lookTime = 100 * time.Millisecond
)

// observeFleet checks the numbers of workers.
func (w *world) observeFleet(c *coordinator) {
	f := &w.fleet
	if len(w.runs) < 2 {
		return
	}
	alive, ended := len(w.alive()), 0
	for _, r := range w.runs {
		if r.hasEnded() {
			ended++
		}
	}
	if !w.calm || alive != f.alive || ended != f.ended || alive != w.weather.workers {
		f.quietSince, f.unfairSince, f.alive, f.ended = w.now, 0, alive, ended
		return
	}
	if w.now < f.looked+lookTime {
		return
	}
	f.looked = w.now
	why := unfair(w, c)
	switch {
	case why == "":
		f.unfairSince = 0
	case f.unfairSince == 0:
		f.unfairSince = w.now
	case w.now-f.unfairSince > unfairTime+w.weather.patience: // of workers with a leader that is gone
		w.fail("rule 16: %s for %v: %s", why, w.now-f.unfairSince, c.status())
	}
}

// unfair says what is wrong with the numbers of workers; empty: nothing.
func unfair(w *world, c *coordinator) string {
	under := c.fleet.UnderWay()
	busy := 0
	for _, to := range under {
		busy += to.Workers
	}
	for _, to := range under {
		run := w.withHash(to.Run)
		if to.Workers >= run.workers.Useful(run.plan) {
			continue
		}
		if busy < c.fleet.Workers() {
			return "a worker has no run, and run " + to.Run + " could use it"
		}
		for _, from := range under {
			if from.Workers >= to.Workers+2 && from.Workers > max(1, from.Bounds.Min) {
				return "run " + from.Run + " has two workers more than run " + to.Run
			}
		}
	}
	return ""
}

// transferred checks that a worker has a reason to move.
func (w *world) transferred(e machine.Send) {
	w.happened["worker moves to another run"]++
	if w.calm && w.fleet.quietSince > 0 && w.now-w.fleet.quietSince > quietTime+w.weather.patience {
		w.fail("rule 17: %s moves %v after the last event: %s", e.To, w.now-w.fleet.quietSince, w.leader().status())
	}
}
