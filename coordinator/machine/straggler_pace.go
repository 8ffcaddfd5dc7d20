package machine

import (
	"fmt"
	"slices"
)

// All members wait in the ring for the slowest one, and none of them sees which that
// is. Every worker therefore reports with each step the time that its own part took.
// Its pace is that time per shard, so that it does not depend on how many shards the
// worker has. A straggler is a worker whose pace is slowAbove times the typical one,
// until it falls below slowBelow times that.
const (
	slowAbove = 1.5
	slowBelow = 1.25
)

// slowness is whether a worker is a straggler.
type slowness struct {
	slow   bool
	change alarm // windows in which slow did not hold
}

// paces are those of all members of the present generation, over some steps.
type paces struct {
	each    []float64 // by rank, in seconds per shard; zero: not known yet
	typical float64   // the lower median
}

func newPaces(g *generation, own func(rank int) float64) paces {
	p := paces{each: make([]float64, len(g.members))}
	for rank, shards := range g.shards {
		p.each[rank] = own(rank) / float64(max(1, len(shards)))
	}
	p.typical = lowerMedian(slices.Clone(p.each)) // of two workers the faster is typical
	return p
}

func (p paces) known() bool { return slices.Min(p.each) > 0 }

// checkStragglers compares the members' paces once a window: it reports who has become
// a straggler, and moves shards where that makes steps shorter. The latest window
// decides on alarms; the numbers in texts are medians of all windows.
func (m *Machine) checkStragglers(g *generation) {
	if !m.run.windows.close(m.now) {
		return
	}
	latest, all := newPaces(g, m.run.windows.latest), newPaces(g, m.run.windows.median)
	if !latest.known() {
		return
	}
	for rank, w := range m.workersOf(g) {
		m.updateSlow(w, rank, latest, all)
	}
	m.rebalance(g, latest, all)
}

// workersOf are a generation's members by rank.
func (m *Machine) workersOf(g *generation) []*worker {
	workers := make([]*worker, len(g.members))
	for rank, id := range g.members {
		workers[rank] = m.byID(id)
	}
	return workers
}

// updateSlow reports that a worker has become a straggler, or is none any more.
func (m *Machine) updateSlow(w *worker, rank int, latest, all paces) {
	s := &w.slowness
	bound := slowAbove
	if s.slow {
		bound = slowBelow
	}
	slow := latest.each[rank] > bound*latest.typical
	if s.change.add(slow != s.slow); !s.change.raised() {
		return
	}
	s.slow, s.change = slow, 0
	own, typical := all.each[rank], all.typical
	text := fmt.Sprintf("worker %s is no longer slow: %s per shard, the others take %s", w.ID, ms(own), ms(typical))
	if s.slow {
		text = fmt.Sprintf("worker %s is slow: %s per shard, %.1f times the others' %s", w.ID, ms(own), own/typical, ms(typical))
		m.emit(Warn{Text: text})
	}
	m.because(text)
}

func ms(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }
