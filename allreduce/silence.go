package allreduce

import (
	"fmt"
	"slices"
	"sync/atomic"
	"time"
)

// A link can stay connected and carry nothing: a route is lost, a cable is unplugged, one
// direction is blocked. TCP reports that after minutes. So every rank sends a sign of life
// on each of its outgoing links several times a second. A goroutine that does nothing else
// sends them, also while the rank computes, compiles, or waits for another. A rank that
// joins or sums, and gets no byte on a link for nearly two seconds, ends the ring. A slow
// link brings bytes and is never silent.

const (
	// beatInterval is the time between two signs of life, and between two looks at the
	// bytes that have come.
	beatInterval = 250 * time.Millisecond
	// silentBeats is how many looks in a row find nothing new on a silent link: it is
	// noticed 1.75 to 2 s after the last byte. That is later than the coordinator notices a
	// silent process (1.5 s), so a process that is stopped is not taken for a broken link.
	silentBeats = 7
	// alsoSilent is how many such looks suffice for a link beside a silent one.
	alsoSilent = silentBeats - 2
)

// silence of a source, as listen sees it.
type silence struct {
	arrivals uint64
	beats    atomic.Int32 // looks in a row that found nothing new
	// TCP segments that had come at the last look that found something new, and those since
	// then. A sender that gets no answer sends the same again: nothing new comes, and segments do.
	before   uint64
	repeated atomic.Uint64
}

// keepAlive sends a sink signs of life until its stream or the ring ends. It may block
// where the link is silent.
func (r *Ring) keepAlive(to *sink) {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-to.ended:
			return
		case <-r.ctx.Done():
			return
		}
		if to.out.alive(signOfLife(r.id.Generation)) != nil {
			return // watch knows the reason
		}
	}
}

// listen ends a ring that joins or sums while a source is silent. It looks at all sources:
// where A cannot send to B, C may wait for A and B for C.
func (r *Ring) listen() {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	looked := time.Now()
	for {
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return
		}
		passed := time.Since(looked)
		looked = looked.Add(passed)
		waiting := r.waiting.Load()
		silent := false
		for _, from := range r.sources {
			select {
			case <-from.arrived:
			default:
				continue // it has not connected yet
			}
			if now, ok := from.in.arrivals(); ok {
				silent = from.silence.look(now, waiting, passed) || silent
				from.silence.count(from.in.segments())
			}
		}
		if silent {
			r.cancel(r.silent())
			return
		}
	}
}

// look takes the arrivals so far, at a time that has passed since the last look, and
// reports whether the source is silent. A late look does not count: this process was
// stopped or starved, and may not have read yet what has come.
func (s *silence) look(arrivals uint64, waiting bool, passed time.Duration) bool {
	switch {
	case !waiting || arrivals != s.arrivals:
		s.arrivals = arrivals
		s.beats.Store(0)
	case passed < 2*beatInterval:
		s.beats.Add(1)
	}
	return s.beats.Load() >= silentBeats
}

// count takes the number of segments so far, after a look.
func (s *silence) count(segments uint64) {
	if s.beats.Load() == 0 {
		s.before = segments
	}
	s.repeated.Store(segments - min(s.before, segments))
}

// silent blames the first silent source and names all.
func (r *Ring) silent() *Error {
	first := -1
	for _, from := range r.sources {
		if first < 0 && from.silence.beats.Load() >= silentBeats {
			first = from.rank
		}
	}
	return r.blame("receive", first, fmt.Errorf("%w: not even signs of life came for %v", ErrSilent, silentBeats*beatInterval))
}

// quiet are the ranks to which no connection can be made, and those from which nothing has
// come for nearly as long as from a silent one.
func (r *Ring) quiet() []int {
	var ranks []int
	for _, to := range r.sinks {
		if to.unreachable.Load() {
			ranks = append(ranks, to.rank)
		}
	}
	for _, from := range r.sources {
		if from.silence.beats.Load() >= alsoSilent && !slices.Contains(ranks, from.rank) {
			ranks = append(ranks, from.rank)
		}
	}
	return ranks
}
