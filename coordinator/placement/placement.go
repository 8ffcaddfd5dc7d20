// Package placement assigns shards to workers, as a pure function of the two lists: it
// needs no record of earlier placements.
//
// It is weighted rendezvous hashing (Thaler and Ravishankar 1998) with bounded
// loads. Shard s and worker w of weight W have the score
//
//	score(s, w) = −W / ln u,   u = hash(s, w) in (0, 1)
//
// which, unbounded, gives w the share W/ΣW of the shards. The bound is exact:
// with quota q = S·W/ΣW every worker gets ⌊q⌋ or ⌊q⌋+1 of S shards, so that
// with equal weights counts differ by at most one. The pair with the highest
// score among shards without an owner and workers with room is matched first.
// As both sides rank by the same score, this is the stable matching, and a worker that
// joins or leaves moves few shards beyond those that it must take or leave.
package placement

import (
	"container/heap"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
)

// Worker is a possible owner of shards.
type Worker struct {
	ID     string
	Weight float64 // relative speed; zero means 1
}

// Place assigns the shards 0..shards-1 to the workers: result[i] are the shards
// of workers[i], ascending. It depends on the set of workers, not on their
// order. IDs must differ, weights be positive and finite; no workers is an
// error unless there is nothing to place.
func Place(shards int, workers []Worker) ([][]int, error) {
	n := len(workers)
	if shards < 0 || n == 0 && shards > 0 {
		return nil, fmt.Errorf("place %d shards on %d workers", shards, n)
	}
	weights, err := validate(workers)
	if err != nil {
		return nil, err
	}
	room, extras := quotas(shards, weights)
	placed := make([][]int, n)
	hasRoom := func(w int) bool {
		return len(placed[w]) < room[w] || len(placed[w]) == room[w] && extras > 0
	}
	// Greedy over all pairs by falling score. The queue has only each shard's best pair
	// among workers with room, since a full worker stays full. So the million pairs of a
	// thousand workers and shards are hashed, but neither stored nor sorted.
	r := newRanking(workers, weights)
	best := &queue{before: r.before}
	for shard := range shards {
		best.pairs = append(best.pairs, r.best(shard, hasRoom))
	}
	heap.Init(best)
	for best.Len() > 0 {
		p := best.pairs[0]
		if !hasRoom(p.worker) {
			best.pairs[0] = r.best(p.shard, hasRoom)
			heap.Fix(best, 0)
			continue
		}
		heap.Pop(best)
		if len(placed[p.worker]) == room[p.worker] {
			extras--
		}
		placed[p.worker] = append(placed[p.worker], p.shard)
	}
	for _, s := range placed {
		slices.Sort(s)
	}
	return placed, nil
}

func validate(workers []Worker) (weights []float64, err error) {
	seen := make(map[string]bool, len(workers))
	weights = make([]float64, len(workers))
	for i, w := range workers {
		if seen[w.ID] {
			return nil, fmt.Errorf("worker %q is listed twice", w.ID)
		}
		seen[w.ID] = true
		weights[i] = w.Weight
		if w.Weight == 0 {
			weights[i] = 1
		}
		if !(weights[i] > 0) || math.IsInf(weights[i], 0) {
			return nil, fmt.Errorf("worker %q has weight %v", w.ID, w.Weight)
		}
	}
	return weights, nil
}

// quotas returns every worker's assured number of shards, and how many workers
// may own one more.
func quotas(shards int, weights []float64) (room []int, extras int) {
	var total float64
	for _, w := range slices.Sorted(slices.Values(weights)) { // sorted: the sum must not depend on the order
		total += w
	}
	room = make([]int, len(weights))
	extras = shards
	for i, w := range weights {
		room[i] = int(float64(shards) * (w / total))
		extras -= room[i]
	}
	return room, extras
}

// ranking has what the scores depend on.
type ranking struct {
	workers []Worker
	weights []float64
	hashes  []uint64 // of the IDs
	most    float64  // the largest weight
}

func newRanking(workers []Worker, weights []float64) ranking {
	r := ranking{workers: workers, weights: weights}
	for i, w := range workers {
		h := fnv.New64a()
		h.Write([]byte(w.ID))
		r.hashes = append(r.hashes, h.Sum64())
		r.most = max(r.most, weights[i])
	}
	return r
}

// best is the shard's pair with the highest score among the workers that are
// eligible; there must be one. Most workers need no logarithm: the score of a worker
// with u is at most −most/ln u, so it exceeds s only if u > exp(−most/s).
func (r ranking) best(shard int, eligible func(w int) bool) pair {
	found := pair{shard: shard, worker: -1}
	row := mix(uint64(shard) + 1)
	least := uint64(0) // 53-bit hashes below it cannot win
	for w, id := range r.hashes {
		hash := mix(id^row) >> 11
		if hash < least || !eligible(w) {
			continue
		}
		p := pair{-r.weights[w] / math.Log((float64(hash)+0.5)/(1<<53)), shard, w}
		if found.worker < 0 || r.before(p, found) {
			found, least = p, hash
			if r.weights[w] < r.most {
				least = uint64(max(0, math.Exp(-r.most/p.score)*(1<<53)-4)) // minus a margin for rounding
			}
		}
	}
	return found
}

type pair struct {
	score         float64
	shard, worker int
}

// before reports whether a comes first: the higher score; ties, which need a
// collision of hashes, fall to the lower shard and then the lower ID.
func (r ranking) before(a, b pair) bool {
	switch {
	case a.score != b.score:
		return a.score > b.score
	case a.shard != b.shard:
		return a.shard < b.shard
	}
	return r.workers[a.worker].ID < r.workers[b.worker].ID
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection
// of 64 bits that spreads nearby inputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
