package machine

import (
	"fmt"
	"slices"
)

// Who computes slowly is waited for by all, in the ring, where nobody sees whom.
// Every worker therefore tells with each step what it spent on its own part. Its
// pace is that time per shard: it belongs to the machine and not to how much it
// was given.
const (
	slowAbove = 1.5  // times the typical pace: slow from there on
	slowBelow = 1.25 // and until there
)

// pace is what is made of a worker's.
type pace struct {
	slow      bool  // and named so
	otherwise votes // whether it had better be named otherwise
}

// paces are all members' in some time of the present generation.
type paces struct {
	each    []float64 // by rank, in seconds per shard; zero: not known yet
	typical float64
}

func newPaces(g *generation, own func(rank int) float64) paces {
	p := paces{each: make([]float64, len(g.members))}
	for rank, shards := range g.shards {
		p.each[rank] = own(rank) / float64(max(1, len(shards)))
	}
	p.typical = lowerMedian(p.each)
	return p
}

func (p paces) known() bool { return slices.Min(p.each) > 0 }

// lowerMedian of two is the smaller one: of two workers the faster is typical.
func lowerMedian(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// watch looks at everyone's pace: names who has become slow, and moves shards
// where that makes steps shorter. Each look has its say, and all of them give the
// numbers.
func (m *Machine) watch(g *generation) {
	if !m.run.looks.close(m.now) {
		return
	}
	look, all := newPaces(g, m.run.looks.latest), newPaces(g, m.run.looks.median)
	if !look.known() {
		return
	}
	for rank, w := range m.workersOf(g) {
		m.name(w, rank, look, all)
	}
	m.rebalance(g, look, all)
}

// workersOf are a generation's members by rank.
func (m *Machine) workersOf(g *generation) []*worker {
	workers := make([]*worker, len(g.members))
	for rank, id := range g.members {
		workers[rank] = m.byID(id)
	}
	return workers
}

// name says that a worker is slow, or no longer is.
func (m *Machine) name(w *worker, rank int, look, all paces) {
	p := &w.pace
	bound := slowAbove
	if p.slow {
		bound = slowBelow
	}
	slow := look.each[rank] > bound*look.typical
	if p.otherwise.add(slow != p.slow); !p.otherwise.carried() {
		return
	}
	p.slow, p.otherwise = slow, 0
	own, typical := all.each[rank], all.typical
	text := fmt.Sprintf("worker %s is no longer slow: %s per shard, the others take %s", w.ID, ms(own), ms(typical))
	if p.slow {
		text = fmt.Sprintf("worker %s is slow: %s per shard, %.1f times the others' %s", w.ID, ms(own), own/typical, ms(typical))
		m.emit(Warn{text})
	}
	m.because(text)
}

func ms(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }
