package machine

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/placement"
)

const (
	worthMoving  = 0.8         // of a step's time, or less: shards move
	leastSettled = time.Minute // between two moves,
	mostSettled  = 16 * leastSettled
	minWeight    = 1. / 8
	maxWeight    = 8.
	rounding     = 1e-9 // of quotas
)

// rebalance gives shards by pace where the slowest would then take much less
// time for its own, for good. Nobody compiles anything: any number of shards is
// made up of the sizes that everybody has.
func (m *Machine) rebalance(g *generation, look, all paces) {
	m.run.uneven.add(m.balance(g, look).worth())
	if !m.run.uneven.carried() || !all.known() || m.now.Sub(m.run.moved) < m.run.settling {
		return
	}
	b := m.balance(g, all) // in each look it may have been for another worker
	if !b.worth() {
		return
	}
	m.run.settle(m.now)
	for rank, w := range m.workersOf(g) {
		w.weight = b.weights[rank]
	}
	m.end(fmt.Sprintf("shards move to where they are computed faster: the slowest part of a step shall take %s instead of %s", ms(b.then), ms(b.now)))
}

// A balance is what sharing by pace would give: the slowest part of a step now and
// then, in seconds.
type balance struct {
	weights   []float64 // typical pace over own
	now, then float64
}

func (b balance) worth() bool { return b.then <= worthMoving*b.now }

func (m *Machine) balance(g *generation, p paces) balance {
	b := balance{weights: make([]float64, len(p.each))}
	for rank, pace := range p.each {
		b.weights[rank] = min(max(p.typical/pace, minWeight), maxWeight)
	}
	units := m.ledger.Plan.Units()
	shardsOfUnit := float64(m.ledger.Plan.Shards) / float64(units)
	for rank, quota := range quotas(units, bounded(units, b.weights)) {
		b.now = max(b.now, float64(len(g.shards[rank]))*p.each[rank])
		b.then = max(b.then, math.Ceil(quota-rounding)*shardsOfUnit*p.each[rank])
	}
	return b
}

// settle notes a move. They come ever more rarely where each follows as soon as it
// may: a worker under a quota is fast with few shards and slow with many, and they
// would swing for ever.
func (r *run) settle(now time.Time) {
	if r.settling == 0 || now.Sub(r.moved) >= 2*r.settling {
		r.settling = leastSettled
	} else {
		r.settling = min(2*r.settling, mostSettled)
	}
	r.uneven, r.moved = 0, now
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
