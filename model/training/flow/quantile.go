package flow

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

// quantiles couples the samples that a step takes of a function with noise by
// their ranks among all N that are stored of it, in one dimension: the sample of
// rank r = 0 … N−1 goes with
//
//	x₀ = Φ⁻¹((r + U)/N),  U ~ U(0,1)
//
// This is the monotone coupling of N noises, one from each N-th of N(0,1), with N
// samples, of which a step takes S: optimal transport of a minibatch of N. A
// block is a random subset, so that r is uniform and x₀ ~ N(0,1) exactly, and over
// an epoch the x₀ of a function are a stratified sample. The optimal transport map
// has Φ(x₀) = F(x₁), F the law of the samples; here the mean square of the
// difference is 1/(6N), with S sorted pairs 1/(3(S+1)), and the variance of the
// target x₁ − x₀ at a given x_t falls with it.
//
// Equal samples rank in the order in which they are stored.
type quantiles struct {
	block []ranked
	below []int // stored samples between a block's neighbours, then ranks
}

// ranked is a stored sample with its place, which breaks ties.
type ranked struct {
	value float32
	place int32
}

func (a ranked) compare(b ranked) int {
	if c := cmp.Compare(a.value, b.value); c != 0 {
		return c
	}
	return cmp.Compare(a.place, b.place)
}

// pair appends the samples at these places, in increasing order, to x1 and their
// noise to x0. Ranks take O(N log S): every stored sample is looked up in the
// sorted block.
func (q *quantiles) pair(x0, x1, stored []float32, places []int32, r *rand.Rand) (noise, samples []float32) {
	q.block = q.block[:0]
	for _, i := range places {
		q.block = append(q.block, ranked{stored[i], i})
	}
	slices.SortFunc(q.block, ranked.compare)
	n := len(q.block) + 1
	q.below = slices.Grow(q.below[:0], n)[:n]
	clear(q.below)
	for i, value := range stored {
		q.below[q.before(ranked{value, int32(i)})]++
	}
	rank := 0
	for k, sample := range q.block {
		rank += q.below[k]
		x0 = append(x0, float32(stratum(rank, len(stored), r)))
		x1 = append(x1, sample.value)
	}
	return x0, x1
}

// before is how many of the block rank no higher than s.
func (q *quantiles) before(s ranked) int {
	n, found := slices.BinarySearchFunc(q.block, s, ranked.compare)
	if found {
		n++
	}
	return n
}

// stratum draws from the part of N(0,1) between its quantiles rank/n and
// (rank+1)/n.
func stratum(rank, n int, r *rand.Rand) float64 {
	u := (float64(r.Uint64()>>11) + 0.5) / (1 << 53)
	p := min((float64(rank)+u)/float64(n), 1-0x1p-53) // not 1 by rounding
	return math.Sqrt2 * math.Erfinv(2*p-1)
}
