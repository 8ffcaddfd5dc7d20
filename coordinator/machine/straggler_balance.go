package machine

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/coordinator/placement"
)

const (
	worthwhileRatio = 0.8         // of the slowest part after and before a move; below it shards move
	minMoveInterval = time.Minute // between two moves
	maxMoveInterval = 16 * minMoveInterval
	minWeight       = 1. / 8
	maxWeight       = 8.
	rounding        = 1e-9 // of quotas
)

// rebalance places shards by pace where that makes the slowest member's part of a step
// much shorter, in most of the last windows. It costs no compilation: workers compute
// any number of shards in micro-batches of the same few sizes.
func (m *Machine) rebalance(g *generation, latest, all paces) {
	m.run.uneven.add(m.balance(g, latest).worthwhile())
	if !m.run.uneven.raised() || !all.known() || m.now.Sub(m.run.lastMove) < m.run.moveInterval {
		return
	}
	b := m.balance(g, all) // each window may have been uneven because of another worker
	if !b.worthwhile() {
		return
	}
	m.run.noteMove(m.now)
	for rank, w := range m.workersOf(g) {
		w.weight = b.weights[rank]
	}
	m.end(EndBalanced, fmt.Sprintf("shards move to faster workers: the slowest part of a step should take %s instead of %s", ms(b.then), ms(b.now)))
}

// A balance is what placing shards by pace would give: the slowest member's part of a
// step now and then, in seconds.
type balance struct {
	weights   []float64 // typical pace over own
	now, then float64
}

func (b balance) worthwhile() bool { return b.then <= worthwhileRatio*b.now }

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

// noteMove doubles the interval before the next move where moves follow each other as
// soon as they may. A worker under a CPU quota is fast with few shards and slow with
// many, so its shards would move back and forth for ever.
func (r *run) noteMove(now time.Time) {
	if r.moveInterval == 0 || now.Sub(r.lastMove) >= 2*r.moveInterval {
		r.moveInterval = minMoveInterval
	} else {
		r.moveInterval = min(2*r.moveInterval, maxMoveInterval)
	}
	r.uneven, r.lastMove = 0, now
}

// owners describes the members to placement, which places so many units.
func owners(units int, workers []*worker) []placement.Worker {
	weights := make([]float64, len(workers))
	for rank, w := range workers {
		weights[rank] = w.share()
	}
	weights = bounded(units, weights)
	owners := make([]placement.Worker, len(workers))
	for rank, w := range workers {
		owners[rank] = placement.Worker{ID: string(w.ID), Weight: weights[rank]}
	}
	return owners
}

// share is the worker's weight; 1 where it is not known to be faster or slower than others.
func (w *worker) share() float64 { return cmp.Or(w.weight, 1) }

// bounded raises the smallest weights until every worker has a unit: a worker without
// one would only wait for the others in every step.
func bounded(units int, weights []float64) []float64 {
	least := slices.Max(weights)
	for least > minWeight*minWeight && slices.Min(quotas(units, atLeast(weights, least/2))) > 1+rounding {
		least /= 2
	}
	return atLeast(weights, least)
}

func atLeast(weights []float64, least float64) []float64 {
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
