package simulation

import (
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
)

// ring is the ring of one generation. A step's ring ends for a member when all
// have contributed, for each at its own time; if somebody leaves meanwhile, the
// others' ring has ended or breaks, by chance.
type ring struct {
	w          *world
	generation ergoflow.Generation
	places     []place // by rank
	base       *node   // what it began with, once it has gone
	parts      []part  // of the step that is computed, by rank
	missing    int
	gone       bool                  // it was told to go
	left       bool                  // by somebody
	applied    map[ergoflow.Step]int // by how many members
}

type place struct {
	process *process
	work    *work
}

// part is what a member adds to a sum.
type part struct {
	state  *node // of which it is the gradient
	shards []int
}

// sum is what a ring brings.
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

// delay is how long the slowest link takes: cut ones until they are mended.
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

// leave ends a member's part: the others' streams break.
func (r *ring) leave(rank int) {
	if r.places[rank].process == nil {
		return
	}
	r.w.keepStale(r, rank)
	r.left = true
	r.snap()
}

// snap breaks the ring for whoever is still in it.
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
