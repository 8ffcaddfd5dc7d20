package simulation

import (
	"errors"
	"fmt"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/message"
	"github.com/ergoflow/ergoflow/worker/protocol"
)

// join takes the state, connects the ring, and then waits for orders.
func (p *process) join(assign message.Assign) {
	if !p.prepared || p.settings != p.ordered {
		p.w.fail("rule 10: %s is a member of generation %d and is not prepared", p, assign.Generation)
	}
	w := &work{assign: assign}
	p.work = w
	if p.w.sabotage.admitEarly && assign.Source.Kind != message.SourceOwn {
		p.connect(w) // before it has the state
	}
	p.take(w, func() {
		if w.ring == nil {
			p.connect(w)
		}
	})
}

// take takes the state that a generation begins with.
func (p *process) take(w *work, taken func()) {
	source := w.assign.Source
	want := source.State
	put := func(n *node) {
		if p.work == w && !w.cancelled {
			p.node = n
			taken()
		}
	}
	fail := func(format string, args ...any) { p.broke(w, fmt.Errorf(format, args...)) }
	switch source.Kind {
	case message.SourceOwn:
		if p.w.sabotage.forgetLaggard && p.node != nil && p.node.mark != want {
			p.node = p.w.forge(p.node, want) // it mistakes its state for the one it should have
		}
		if p.node == nil || !p.fits(p.node, want) {
			fail("told to keep my state at %s, but hold %v", want, p.node)
			return
		}
		taken()
	case message.SourceFresh:
		if p.run.plan.Start != "" {
			p.w.fail("rule 13: %s is told to begin from random parameters", p)
		}
		p.at(p.w.between(0, 50*time.Millisecond), func() { put(p.run.root) })
	case message.SourceCheckpoint:
		p.fetchCheckpoint(want, put, fail)
	case message.SourcePeer:
		p.fetch(w, source.Peer, want, put, fail)
	}
}

// fits reports whether a state is the wanted one, as far as the process knows.
func (p *process) fits(n *node, want ergoflow.Mark) bool {
	if p.w.sabotage.noMarks {
		return n.mark.Step == want.Step
	}
	return n.mark == want
}

func (p *process) fetchCheckpoint(want ergoflow.Mark, put func(*node), fail func(string, ...any)) {
	c, incarnation := p.coordinator, p.coordinator.incarnation
	p.at(p.w.between(time.Millisecond, 300*time.Millisecond), func() {
		if !c.up || c.incarnation != incarnation || p.w.open(p.id, c.id) > 0 {
			fail("load checkpoint: the connection broke")
			return
		}
		for _, n := range c.stored[p.run] {
			if p.fits(n, want) {
				put(n)
				return
			}
		}
		fail("load checkpoint: there is none at %s", want)
	})
}

// fetch reads the state from a peer.
func (p *process) fetch(w *work, from message.Member, want ergoflow.Mark, put func(*node), fail func(string, ...any)) {
	p.at(p.w.delay(), func() {
		peer := p.w.process(from.ID)
		if peer == nil || peer.address() != from.DataAddress {
			fail("state from peer %s: connection refused", from.ID)
			return
		}
		if p.w.refuses(p.id, from.ID) {
			p.broke(w, &protocol.Blame{Peer: from.ID, Err: errRefused})
			return
		}
		if d := p.w.apart(p.id, from.ID); d > 0 {
			p.await(w, from, d, func() { p.fetch(w, from, want, put, fail) })
			return
		}
		p.w.on(&peer.host, p.w.delay(), func() {
			if !peer.alive || peer.node == nil || peer.run != p.run || !p.fits(peer.node, want) {
				p.at(p.w.delay(), func() { fail("state from peer %s: it holds none at %s", from.ID, want) })
				return
			}
			n := peer.node
			p.at(p.w.between(time.Millisecond, 800*time.Millisecond), func() {
				if !peer.alive {
					fail("state from peer %s: the stream broke", from.ID)
					return
				}
				put(n)
			})
		})
	})
}

// await calls again when a link is mended, unless that takes longer than the process tries to
// connect to the peer.
func (p *process) await(w *work, from message.Member, d time.Duration, again func()) {
	const patience = time.Second + connectTime
	if d <= patience || p.w.sabotage.deafRings {
		p.at(d, again)
		return
	}
	p.at(patience, func() {
		if p.w.apart(p.id, from.ID) == 0 {
			again()
			return
		}
		p.broke(w, &protocol.Blame{Peer: from.ID, Silent: []ergoflow.WorkerID{from.ID}, Err: errSilent})
	})
}

// checkLink finds out whether the link to a peer works both ways.
func (p *process) checkLink(peer message.Member) {
	session := p.session
	answer := func(err error) {
		if p.session == session {
			p.post(protocol.LinkChecked{Peer: peer.ID, Err: err})
		}
	}
	p.at(p.w.delay()+p.w.delay(), func() {
		q := p.w.process(peer.ID)
		if p.w.apart(p.id, peer.ID) == 0 && !p.w.refuses(p.id, peer.ID) && q != nil && q.hangs <= p.w.now && !p.w.sabotage.neverMended {
			answer(nil)
			return
		}
		if p.w.refuses(p.id, peer.ID) {
			answer(errRefused)
			return
		}
		p.at(2*time.Second, func() { answer(errSilent) })
	})
}

// connect takes the rank's place in the ring, which is connected when all members have.
func (p *process) connect(w *work) {
	p.newest = max(p.newest, w.assign.Generation)
	w.ring = p.w.ring(w.assign)
	w.ring.join(p, w.assign.Rank)
}

// connected is called by the ring.
func (p *process) connected(w *work) {
	if p.work != w || w.cancelled {
		return
	}
	step := ergoflow.Step(0)
	if p.node != nil {
		step = p.node.mark.Step
	}
	p.post(protocol.Joined{Step: step})
}

func (p *process) leaveRing() {
	if p.work != nil && p.work.ring != nil {
		p.work.ring.leave(p.work.assign.Rank)
	}
}

// compute takes the time of a gradient and enters the ring.
func (p *process) compute() {
	w := p.work
	took := p.w.between(p.w.weather.gradient/4, p.w.weather.gradient)
	w.busyUntil = p.w.now + took
	p.at(took, func() {
		if p.work == w && !w.cancelled {
			state := p.node
			if state == nil {
				state = p.run.root // memory that was never written
			}
			w.ring.contribute(w.assign.Rank, part{state: state, shards: w.assign.Shards})
		}
	})
}

// summed is called by the ring when it has ended for this member.
func (p *process) summed(w *work, s *sum) {
	if p.work != w || w.cancelled {
		return
	}
	w.sum = s
	p.post(protocol.Summed{})
}

// apply updates the state, at once.
func (p *process) apply() {
	w := p.work
	n, err := p.w.apply(p, w.ring, w.sum)
	if err != nil {
		p.broke(w, err)
		return
	}
	before := p.node
	p.node = n
	p.tell(before)
	p.at(p.w.between(100*time.Microsecond, 5*time.Millisecond), func() {
		if p.work == w {
			p.post(protocol.Applied{Progress: message.Progress{Step: n.mark.Step, Loss: 1, Samples: 1}})
		}
	})
}

var (
	errRing    = errors.New("a neighbour left the ring")
	errSilent  = errors.New("nothing comes")
	errRefused = errors.New("connection refused")
)
