package machine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/placement"
)

// Who computes slowly is waited for by all, in the ring, where nobody sees whom.
// Every worker therefore tells with each step what it spent on its own part. Its
// pace is that time per shard: it belongs to the machine and not to how much it
// was given.
const (
	paceInterval = time.Second      // between looks at all of them
	persistent   = 10 * time.Second // what lasts shorter is let pass
	slowAbove    = 1.5              // times the typical pace: slow from there on
	slowBelow    = 1.25             // and until there
	worthMoving  = 0.8              // of a step's time, or less: shards move
	settling     = time.Minute      // between two moves
	minWeight    = 1. / 8
	maxWeight    = 8.
	rounding     = 1e-9 // of quotas
)

// pace is what is made of a worker's.
type pace struct {
	slow  bool      // and named so
	since time.Time // slow, or as fast as others again, for so long; zero: as named
}

// perShard is a worker's pace in the present generation, in seconds per shard; zero:
// not known yet.
func (w *worker) perShard(shards int) float64 {
	if !w.steps.full() {
		return 0
	}
	return median(w.steps.values, Timing.own) / float64(shards)
}

// lowerMedian of two is the smaller one: of two workers the faster is typical.
func lowerMedian(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// watch looks at everyone's pace: names who has become slow, and moves shards
// where that makes steps shorter.
func (m *Machine) watch(g *generation) {
	if m.now.Sub(m.run.watched) < paceInterval {
		return
	}
	m.run.watched = m.now
	workers := m.workersOf(g)
	paces := make([]float64, len(workers))
	for rank, w := range workers {
		if paces[rank] = w.perShard(len(g.shards[rank])); paces[rank] == 0 {
			return
		}
	}
	typical := lowerMedian(paces)
	for rank, w := range workers {
		m.name(w, paces[rank], typical)
	}
	m.rebalance(g, workers, paces, typical)
}

// workersOf are a generation's members by rank.
func (m *Machine) workersOf(g *generation) []*worker {
	workers := make([]*worker, len(g.members))
	for rank, id := range g.members {
		workers[rank] = m.byID(id)
	}
	return workers
}

// name says that a worker is slow, or no longer is, once that lasts.
func (m *Machine) name(w *worker, own, typical float64) {
	p := &w.pace
	bound := slowAbove
	if p.slow {
		bound = slowBelow
	}
	switch slow := own > bound*typical; {
	case slow == p.slow:
		p.since = time.Time{}
		return
	case p.since.IsZero():
		p.since = m.now
		return
	case m.now.Sub(p.since) < persistent:
		return
	}
	p.slow, p.since = !p.slow, time.Time{}
	text := fmt.Sprintf("worker %s is no longer slow: %s per shard, the others take %s", w.ID, ms(own), ms(typical))
	if p.slow {
		text = fmt.Sprintf("worker %s is slow: %s per shard, %.1f times the others' %s", w.ID, ms(own), own/typical, ms(typical))
		m.emit(Warn{text})
	}
	m.because(text)
}

// rebalance gives shards by pace where the slowest would then take much less
// time for its own, for good. Nobody compiles anything: any number of shards is
// made up of the sizes that everybody has.
func (m *Machine) rebalance(g *generation, workers []*worker, paces []float64, typical float64) {
	weights := make([]float64, len(workers))
	for rank := range workers {
		weights[rank] = min(max(typical/paces[rank], minWeight), maxWeight)
	}
	now, then := 0.0, 0.0
	units := m.ledger.Plan.Units()
	shardsOfUnit := float64(m.ledger.Plan.Shards) / float64(units)
	for rank, quota := range quotas(units, bounded(units, weights)) {
		now = max(now, float64(len(g.shards[rank]))*paces[rank])
		then = max(then, math.Ceil(quota-rounding)*shardsOfUnit*paces[rank])
	}
	switch {
	case then > worthMoving*now:
		m.run.uneven = time.Time{}
		return
	case m.run.uneven.IsZero():
		m.run.uneven = m.now
		return
	case m.now.Sub(m.run.uneven) < persistent || m.now.Sub(m.run.moved) < settling:
		return
	}
	m.run.uneven, m.run.moved = time.Time{}, m.now
	for rank, w := range workers {
		w.weight = weights[rank]
	}
	m.end(fmt.Sprintf("shards move to where they are computed faster: the slowest part of a step shall take %s instead of %s", ms(then), ms(now)))
}

// owners are the members as placement sees them, who share so many units.
func owners(units int, workers []*worker) []placement.Worker {
	weights := make([]float64, len(workers))
	for rank, w := range workers {
		weights[rank] = w.weight
		if w.weight == 0 {
			weights[rank] = 1 // not known to be faster or slower than others
		}
	}
	weights = bounded(units, weights)
	owners := make([]placement.Worker, len(workers))
	for rank, w := range workers {
		owners[rank] = placement.Worker{ID: string(w.ID), Weight: weights[rank]}
	}
	return owners
}

// bounded raises the least weights until everyone has a unit: who has none would
// wait in every step for the others.
func bounded(units int, weights []float64) []float64 {
	least := slices.Max(weights)
	for least > minWeight*minWeight && slices.Min(quotas(units, raised(weights, least/2))) > 1+rounding {
		least /= 2
	}
	return raised(weights, least)
}

func raised(weights []float64, least float64) []float64 {
	all := slices.Clone(weights)
	for i := range all {
		all[i] = max(all[i], least)
	}
	return all
}

// quotas are the shares of the units that weights give.
func quotas(units int, weights []float64) []float64 {
	total := 0.0
	for _, w := range weights {
		total += w
	}
	shares := make([]float64, len(weights))
	for i, w := range weights {
		shares[i] = float64(units) * w / total
	}
	return shares
}

func ms(seconds float64) string { return fmt.Sprintf("%.3g ms", 1e3*seconds) }
