// Package placement says which worker owns which shard, as a pure function of
// the two lists: nobody needs to remember what was placed before.
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
// As both sides rank by the same score, this is the stable matching, and a
// worker that comes or goes displaces little beyond what it must take or leave.
package placement

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"
	"slices"
)

// Worker is who may own shards.
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
	owned := make([]bool, shards)
	for _, p := range ranked(shards, workers, weights) {
		switch w := p.worker; {
		case owned[p.shard]:
			continue
		case len(placed[w]) < room[w]:
		case len(placed[w]) == room[w] && extras > 0:
			extras--
		default:
			continue
		}
		owned[p.shard] = true
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
	for _, w := range slices.Sorted(slices.Values(weights)) { // sorted: the sum knows no order
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

type pair struct {
	score         float64
	shard, worker int
}

// ranked returns all pairs, the highest score first; ties, which need a
// collision of 64-bit hashes, fall to the lower shard and then the lower ID.
func ranked(shards int, workers []Worker, weights []float64) []pair {
	pairs := make([]pair, 0, shards*len(workers))
	for w := range workers {
		h := fnv.New64a()
		h.Write([]byte(workers[w].ID))
		id := h.Sum64()
		for s := range shards {
			u := (float64(mix(id^mix(uint64(s)+1))>>11) + 0.5) / (1 << 53)
			pairs = append(pairs, pair{-weights[w] / math.Log(u), s, w})
		}
	}
	slices.SortFunc(pairs, func(a, b pair) int {
		return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.shard, b.shard),
			cmp.Compare(workers[a.worker].ID, workers[b.worker].ID))
	})
	return pairs
}

// mix is the finaliser of SplitMix64 (Steele, Lea and Flood 2014): a bijection
// of 64 bits that spreads nearby inputs.
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}
