package allreduce

import (
	"fmt"
	"time"
)

// A link can stay connected and carry nothing: a route is lost, a cable is unplugged, one
// direction is blocked. TCP reports that after minutes. So every rank sends a sign of life
// on each of its outgoing links several times a second, from a goroutine that does nothing
// else: also while the rank computes, compiles, or waits for another. A rank that sums and
// gets no byte on a link for nearly two seconds ends the ring. A link that is slow brings
// bytes and is never silent.

const (
	// beatInterval is the time between two signs of life, and between two looks for them.
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
	beats    int // looks in a row that found nothing new. Time in which this process was stopped is one look
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

// listen ends a ring that sums while a source is silent. It looks at all sources: where A
// cannot send to B, C may wait for A and B for C.
func (r *Ring) listen() {
	ticker := time.NewTicker(beatInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
		case <-r.ctx.Done():
			return
		}
		summing := r.summing.Load()
		silent := false
		for _, from := range r.sources {
			silent = from.look(summing) || silent
		}
		if silent {
			r.cancel(r.silent())
			return
		}
	}
}

// look reports whether the source is silent.
func (from *source) look(summing bool) bool {
	now, ok := from.in.arrivals()
	s := &from.silence
	if !ok || !summing || now != s.arrivals {
		*s = silence{arrivals: now}
		return false
	}
	s.beats++
	return s.beats >= silentBeats
}

// silent blames the first silent source and names all.
func (r *Ring) silent() *Error {
	var ranks []int
	first := -1
	for _, from := range r.sources {
		if from.silence.beats >= alsoSilent {
			ranks = append(ranks, from.rank)
		}
		if first < 0 && from.silence.beats >= silentBeats {
			first = from.rank
		}
	}
	e := r.blame("receive", first, fmt.Errorf("%w: not even signs of life came for %v", ErrSilent, silentBeats*beatInterval))
	e.Silent = ranks
	return e
}
