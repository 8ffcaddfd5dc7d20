package simulation

import (
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// ring is the ring of one generation. In each step it ends when all members have
// contributed and what they send has come, for each member at its own time. If a member
// leaves meanwhile, the ring has already ended for some others, and breaks for the rest. A
// member that waits and hears nothing from another for two seconds leaves.
type ring struct {
	w          *world
	generation ergoflow.Generation
	places     []place // by rank
	base       *node   // the state that it began with, once it was told to go
	parts      []part  // of the step that is computed, by rank
	missing    int
	gone       bool                  // it was told to go
	left       bool                  // by a member
	leaver     ergoflow.WorkerID     // which
	applied    map[ergoflow.Step]int // by how many members
}

type place struct {
	process     *process
	work        *work
	waiting     bool  // for others: it joins or sums
	beats       []int // looks in a row that found no sign of life, by rank
	unreachable []ergoflow.WorkerID
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
	r.places[rank] = place{process: p, work: p.work}
	r.listen(rank)
	r.dial(rank)
	for _, place := range r.places {
		if place.process == nil {
			return
		}
	}
	if r.left {
		r.snap()
		return
	}
	for rank := range r.places {
		r.bring(rank, r.w.delay()+r.w.delay(), func(p *process, w *work) {
			r.places[rank].waiting = false
			p.connected(w)
		})
	}
}

// bring calls a member once everything has come that others send it, after a delay. Over a
// link that is cut nothing comes until it is mended.
func (r *ring) bring(rank int, d time.Duration, arrives func(p *process, w *work)) {
	place := r.places[rank]
	place.process.at(d, func() {
		if d := r.blocked(rank); d > 0 && !place.work.cancelled {
			r.bring(rank, min(d, beatInterval), arrives) // the link may be mended early
			return
		}
		arrives(place.process, place.work)
	})
}

// blocked is the time until all links to a member are open.
func (r *ring) blocked(rank int) (d time.Duration) {
	to := r.places[rank].process
	for _, from := range r.places {
		if from.process != to {
			d = max(d, r.w.open(from.process.id, to.id))
		}
	}
	return d
}

// Times of package allreduce.
const (
	beatInterval = 250 * time.Millisecond
	silentBeats  = 7
	alsoSilent   = 5
	connectTime  = 2 * time.Second
)

// listen has a member look for signs of life of the others, while it joins or sums.
func (r *ring) listen(rank int) {
	mine := &r.places[rank]
	mine.waiting, mine.beats = true, make([]int, len(r.places))
	if r.w.sabotage.deafRings {
		return
	}
	var look func()
	look = func() {
		if mine.work.cancelled || mine.process.work != mine.work {
			return
		}
		silent := false
		for i, from := range r.places {
			if mine.waiting && from.process != nil && from.process != mine.process && r.isQuiet(from.process, mine.process) {
				mine.beats[i]++
			} else {
				mine.beats[i] = 0
			}
			silent = silent || mine.beats[i] >= silentBeats
		}
		if silent {
			mine.process.broke(mine.work, r.blame(rank, errSilent))
			return
		}
		mine.process.at(beatInterval, look)
	}
	mine.process.at(beatInterval, look)
}

// breakLinks breaks the links between two members, if they are in one ring.
func (w *world) breakLinks(a, b *process) {
	if a.work == nil || b.work == nil || a.work.ring == nil || a.work.ring != b.work.ring {
		return
	}
	mine, err := a.work, &protocol.Blame{Peer: b.id, Err: errRing}
	a.at(w.delay(), func() { a.broke(mine, err) })
}

// isQuiet reports whether no sign of life comes from one member to another. One that has
// died without breaking its streams is quiet, too.
func (r *ring) isQuiet(from, to *process) bool {
	return r.w.open(from.id, to.id) > 0 || !from.alive || from.hangs > r.w.now
}

// dial has a member find out to which others there is no way. It begins to connect to all
// at once.
func (r *ring) dial(rank int) {
	mine, assign := &r.places[rank], r.places[rank].work.assign
	for _, m := range assign.Members {
		if r.w.refuses(mine.process.id, m.ID) {
			mine.process.at(r.w.delay(), func() { mine.process.broke(mine.work, &protocol.Blame{Peer: m.ID, Err: errRefused}) })
			return
		}
	}
	if r.w.sabotage.deafRings {
		return
	}
	mine.process.at(connectTime, func() {
		for i, m := range assign.Members {
			if i != rank && mine.waiting && (r.w.open(mine.process.id, m.ID) > 0 || r.w.open(m.ID, mine.process.id) > 0) {
				mine.unreachable = append(mine.unreachable, m.ID)
			}
		}
		if len(mine.unreachable) > 0 {
			mine.process.broke(mine.work, r.blame(rank, errSilent))
		}
	})
}

// blame names the members that a member does not hear, or cannot connect to.
func (r *ring) blame(rank int, err error) error {
	mine := r.places[rank]
	b := &protocol.Blame{Peer: r.leaver, Silent: slices.Clone(mine.unreachable), Err: err}
	for i, beats := range mine.beats {
		if id := mine.work.assign.Members[i].ID; beats >= alsoSilent && !slices.Contains(b.Silent, id) {
			b.Silent = append(b.Silent, id)
		}
	}
	if len(b.Silent) > 0 {
		b.Peer = b.Silent[0]
		r.w.happened["silence"]++
	}
	return b
}

// leave removes a member: the streams of the others break.
func (r *ring) leave(rank int) {
	if r.places[rank].process == nil {
		return
	}
	r.w.keepStale(r, rank)
	if !r.left {
		r.left, r.leaver = true, r.places[rank].process.id
	}
	r.snap()
}

// snap breaks the ring for the members that are still in it.
func (r *ring) snap() {
	for rank, place := range r.places {
		p, w := place.process, place.work
		if p == nil || w.cancelled || !p.alive {
			continue
		}
		p.at(r.w.delay(), func() { p.broke(w, r.blame(rank, errRing)) })
	}
}

// contribute adds a member's part to the step's sum.
func (r *ring) contribute(rank int, mine part) {
	if r.parts[rank].state == nil {
		r.missing--
	}
	r.parts[rank] = mine
	r.places[rank].waiting = true
	if r.missing > 0 {
		return
	}
	s := &sum{parts: r.w.takeStale(r, r.parts)}
	r.parts, r.missing = make([]part, len(r.places)), len(r.places)
	d := r.w.delay()
	for rank := range r.places {
		r.bring(rank, d+r.w.between(0, 20*time.Millisecond), func(p *process, w *work) {
			r.places[rank].waiting = false
			p.summed(w, s)
		})
	}
}
