package simulation

import (
	"fmt"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/machine"
	"github.com/ergoflow/ergoflow/data/random"
)

// A world has one coordinator, or three or five. One of several leads: it alone conducts, and
// what it persists is an entry of the log that all agree on (consensus). Clocks of hosts run at
// rates that differ.

// maxDrift bounds how much faster or slower than the true time a clock runs. Two clocks differ
// by up to twice that.
const maxDrift = 0.005

// newCoordinators makes the coordinators. Half of the worlds have one. Its number comes from
// draws of its own, so that worlds of one coordinator do not depend on it.
func (w *world) newCoordinators() {
	n := [6]int{1, 1, 1, 3, 3, 5}[random.New(w.seed, "coordinators").IntN(6)]
	switch {
	case w.sabotage.one:
		n = 1
	case w.sabotage.many:
		n = max(n, 3)
	}
	if n == 1 {
		w.coordinators = []*coordinator{{w: w, host: host{id: coordinatorHost}, disk: map[int]machine.Ledger{}, stored: map[*run][]*node{}}}
		return
	}
	for i := range n {
		id := ergoflow.WorkerID(fmt.Sprintf("c%d", i+1))
		c := &coordinator{w: w, host: host{id: id, rate: w.drift() + w.sabotage.drift}, stored: map[*run][]*node{}}
		c.consensus = &consensus{c: c}
		w.coordinators = append(w.coordinators, c)
	}
	for _, c := range w.coordinators {
		c.others = slices.DeleteFunc(slices.Clone(w.coordinators), func(v *coordinator) bool { return v == c })
	}
	w.weather.lost, w.weather.late = 5+w.r.IntN(200), 5+w.r.IntN(200)
	if w.weather.linksOnly {
		w.weather.lost, w.weather.late = 1<<40, 1<<40
	}
	w.weather.sync = w.between(time.Millisecond, 50*time.Millisecond)
	w.weather.patience, w.weather.contact = 10*time.Second, contactTime
	if w.oneIn(2) {
		w.weather.patience = 3 * time.Second
	}
	if w.oneIn(3) || w.sabotage.lingers { // no safety rests on a leader's stepping down by itself
		w.weather.contact = time.Hour
	}
}

// drift is how much faster than the true time a clock runs.
func (w *world) drift() float64 { return maxDrift * (2*w.r.Float64() - 1) }

// startCoordinators starts all of them.
func (w *world) startCoordinators() {
	for _, c := range w.coordinators {
		if c.consensus == nil {
			c.start()
		} else {
			c.consensus.begin()
		}
	}
}

// runs reports whether the process runs.
func (c *coordinator) runs() bool {
	if c.consensus != nil {
		return !c.consensus.down
	}
	return c.up
}

// store puts the state from which a run begins on the disks of a majority.
func (w *world) store(n *node) {
	first := 0
	if w.several() {
		first = w.r.IntN(len(w.coordinators))
	}
	for i := range w.majority() {
		c := w.coordinators[(first+i)%len(w.coordinators)]
		c.stored[n.run] = []*node{n}
	}
	n.run.checkpoints = []*node{n}
}

func (w *world) several() bool { return len(w.coordinators) > 1 }

func (w *world) majority() int { return len(w.coordinators)/2 + 1 }

// leader is the coordinator that conducts, of several the one of the latest term; the first one
// where none does.
func (w *world) leader() *coordinator {
	best := w.coordinators[0]
	for _, c := range w.coordinators[1:] {
		if c.up && (!best.up || c.term() > best.term()) {
			best = c
		}
	}
	return best
}

// term is the one in which a coordinator last heard of a leader; a single coordinator has none.
func (c *coordinator) term() uint64 {
	if c.consensus == nil {
		return 0
	}
	return c.consensus.term
}

// reached is a coordinator that conducts, or believes so, and that a worker reaches; nil: none.
func (w *world) reached(p *process) *coordinator {
	first := 0
	if w.several() {
		first = w.r.IntN(len(w.coordinators))
	}
	for i := range w.coordinators {
		c := w.coordinators[(first+i)%len(w.coordinators)]
		if c.up && w.open(p.id, c.id) == 0 && w.open(c.id, p.id) == 0 {
			return c
		}
	}
	return nil
}

// gossiped is the latest term of a coordinator that conducts, or believes so, and of which a worker
// hears.
func (w *world) gossiped(p *process) (latest uint64) {
	for _, c := range w.coordinators {
		if c.up && w.open(c.id, p.id) == 0 {
			latest = max(latest, c.term())
		}
	}
	return latest
}

// transmit brings a message from one coordinator to another. It may be late, and is lost where
// the link is cut, or for no reason.
func (w *world) transmit(from, to *coordinator, arrives func()) {
	d := w.delay()
	if !w.calm && w.oneIn(w.weather.late) {
		d += w.between(0, 5*time.Second)
	}
	lost := !w.calm && w.oneIn(w.weather.lost)
	w.on(&to.host, d, func() {
		if !lost && !to.consensus.down && w.open(from.id, to.id) == 0 {
			arrives()
		}
	})
}

// quorum asks the other coordinators, and calls once as many have answered as make a majority
// with this one. It asks again until then, while the coordinator conducts. Where an answer
// arrives, taken is called.
func (c *coordinator) quorum(ask func(of *coordinator, answer func(taken func())), done func()) {
	w, incarnation := c.w, c.incarnation
	answered := map[*coordinator]bool{c: true}
	var attempt func()
	attempt = func() {
		if len(answered) >= w.majority() {
			return
		}
		for _, of := range c.others {
			if answered[of] {
				continue
			}
			w.transmit(c, of, func() {
				ask(of, func(taken func()) {
					w.transmit(of, c, func() {
						if !c.up || c.incarnation != incarnation || answered[of] || len(answered) >= w.majority() {
							return
						}
						taken()
						answered[of] = true
						if len(answered) == w.majority() {
							done()
						}
					})
				})
			})
		}
		c.at(500*time.Millisecond, attempt)
	}
	attempt()
}
