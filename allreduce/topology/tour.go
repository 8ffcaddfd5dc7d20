package topology

import (
	"math"
	"slices"
)

// exactly is the largest number of hosts whose shortest circle is found by trying all, in H²·2^H
// steps; more are improved from the given order.
const exactly = 12

// tour is a short circle of the hosts from host 0 on.
func tour(cost [][]float64) []int {
	if len(cost) <= exactly {
		return shortest(cost)
	}
	best := make([]int, len(cost))
	for i := range best {
		best[i] = i
	}
	if near := nearest(cost); length(cost, near) < length(cost, best) {
		best = near
	}
	improve(cost, best)
	return best
}

// length of a circle.
func length(cost [][]float64, order []int) float64 {
	total := 0.0
	for i, h := range order {
		total += cost[h][order[(i+1)%len(order)]]
	}
	return total
}

// shortest is the shortest circle, by dynamic programming over sets of hosts (Held and Karp
// 1962): least[s][j] is the shortest path from host 0 through the set s that ends at j.
func shortest(cost [][]float64) []int {
	n := len(cost) - 1 // hosts 1 … n are bits 0 … n-1
	least, before := make([][]float64, 1<<n), make([][]int, 1<<n)
	for s := 1; s < 1<<n; s++ {
		least[s], before[s] = make([]float64, n), make([]int, n)
		for j := range n {
			least[s][j] = math.Inf(1)
			if s&(1<<j) == 0 {
				continue
			}
			rest := s &^ (1 << j)
			if rest == 0 {
				least[s][j], before[s][j] = cost[0][j+1], -1
				continue
			}
			for i := range n {
				if t := least[rest][i] + cost[i+1][j+1]; t < least[s][j] { // infinite where i is not in rest
					least[s][j], before[s][j] = t, i
				}
			}
		}
	}
	s, end := 1<<n-1, 0
	for j := range n {
		if least[s][j]+cost[j+1][0] < least[s][end]+cost[end+1][0] {
			end = j
		}
	}
	order := make([]int, n+1)
	for i := n; i > 0; i-- {
		order[i] = end + 1
		s, end = s&^(1<<end), before[s][end]
	}
	return order
}

// nearest goes from each host to the nearest of those that are left.
func nearest(cost [][]float64) []int {
	order := make([]int, len(cost))
	left := make([]int, len(cost)-1)
	for i := range left {
		left[i] = i + 1
	}
	for i := 1; i < len(order); i++ {
		here, best := order[i-1], 0
		for k, h := range left {
			if cost[here][h] < cost[here][left[best]] {
				best = k
			}
		}
		order[i] = left[best]
		left = slices.Delete(left, best, best+1)
	}
	return order
}

// looks bounds the pairs of places that improve looks at. The coordinator waits for it.
const looks = 2_000_000

// improve shortens a circle until moving no run of up to three hosts to another place
// (Or-opt), and turning no run around (2-opt), shortens it. Host 0 stays the first.
func improve(cost [][]float64, order []int) {
	for range looks/(len(order)*len(order)) + 1 {
		if !moved(cost, order) && !turned(cost, order) {
			return
		}
	}
}

// noise is the gain that counts as none, relative to the length.
const noise = 1e-9

func moved(cost [][]float64, order []int) bool {
	n, least := len(order), noise*length(cost, order)
	at := func(i int) int { return order[i%n] }
	for run := 1; run <= 3; run++ {
		for i := 1; i+run <= n; i++ {
			first, last := order[i], order[i+run-1]
			freed := cost[order[i-1]][first] + cost[last][at(i+run)] - cost[order[i-1]][at(i+run)]
			for j := range n { // between j and j+1
				if j >= i-1 && j < i+run {
					continue
				}
				if added := cost[order[j]][first] + cost[last][at(j+1)] - cost[order[j]][at(j+1)]; freed-added > least {
					hosts := slices.Clone(order[i : i+run])
					copy(order, slices.Insert(slices.Delete(slices.Clone(order), i, i+run), place(j, i, run), hosts...))
					return true
				}
			}
		}
	}
	return false
}

// place is where a run that was at i is inserted to come after what was at j.
func place(j, i, run int) int {
	if j > i {
		return j + 1 - run
	}
	return j + 1
}

func turned(cost [][]float64, order []int) bool {
	n, least := len(order), noise*length(cost, order)
	for i := 1; i < n-1; i++ {
		// What the run i … j costs forwards and backwards, as j grows.
		forwards, backwards := 0.0, 0.0
		for j := i + 1; j < n; j++ {
			forwards += cost[order[j-1]][order[j]]
			backwards += cost[order[j]][order[j-1]]
			next := order[(j+1)%n]
			gain := cost[order[i-1]][order[i]] + forwards + cost[order[j]][next] -
				cost[order[i-1]][order[j]] - backwards - cost[order[i]][next]
			if gain > least {
				slices.Reverse(order[i : j+1])
				return true
			}
		}
	}
	return false
}
