package simulation

import (
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// ring is the ring of one generation. In each step it ends when all members have
// contributed, for each member at its own time. If a member leaves meanwhile, the ring has
// already ended for some others, and breaks for the rest.
type ring struct {
	w          *world
	generation ergoflow.Generation
	places     []place // by rank
	base       *node   // the state that it began with, once it was told to go
	parts      []part  // of the step that is computed, by rank
	missing    int
	gone       bool                  // it was told to go
	left       bool                  // by a member
	applied    map[ergoflow.Step]int // by how many members
}

type place struct {
	process *process
	work    *work
}

// part is a member's contribution to a sum.
type part struct {
	state  *node // at which the gradient was computed
	shards []int
}

// sum is the result of a ring.
type sum struct{ parts []part }

func (w *world) ring(a message.Assign) *ring {
	r := w.rings[a.Generation]
	if r == nil {
		n := len(a.Members)
		r = &ring{w: w, generation: a.Generation, places: make([]place, n), parts: make([]part, n), missing: n, applied: map[ergoflow.Step]int{}}
		w.rings[a.Generation] = r
	}
	return r
}

func (r *ring) join(p *process, rank int) {
	r.places[rank] = place{p, p.work}
	for _, place := range r.places {
		if place.process == nil {
			return
		}
	}
	if r.left {
		r.snap()
		return
	}
	d := r.delay()
	for _, place := range r.places {
		place.process.at(d+r.w.delay(), func() { place.process.connected(place.work) })
	}
}

// delay is the delay of the slowest link: a cut one, until it is mended.
func (r *ring) delay() time.Duration {
	d := r.w.delay()
	for i, place := range r.places {
		next := r.places[(i+1)%len(r.places)].process
		if next != place.process {
			d = max(d, r.w.open(place.process.id, next.id), r.w.open(next.id, place.process.id))
		}
	}
	return d
}

// leave removes a member: the streams of the others break.
func (r *ring) leave(rank int) {
	if r.places[rank].process == nil {
		return
	}
	r.w.keepStale(r, rank)
	r.left = true
	r.snap()
}

// snap breaks the ring for the members that are still in it.
func (r *ring) snap() {
	for _, place := range r.places {
		p, w := place.process, place.work
		if p == nil || w.cancelled || !p.alive {
			continue
		}
		p.at(r.w.delay(), func() { p.broke(w, errRing) })
	}
}

// contribute adds a member's part to the step's sum.
func (r *ring) contribute(rank int, mine part) {
	if r.parts[rank].state == nil {
		r.missing--
	}
	r.parts[rank] = mine
	if r.missing > 0 {
		return
	}
	s := &sum{parts: r.w.takeStale(r, r.parts)}
	r.parts, r.missing = make([]part, len(r.places)), len(r.places)
	d := r.delay()
	for _, place := range r.places {
		p, w := place.process, place.work
		p.at(d+r.w.between(0, 20*time.Millisecond), func() { p.summed(w, s) })
	}
}
