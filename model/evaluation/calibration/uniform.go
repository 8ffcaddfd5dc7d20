package calibration

import (
	"errors"
	"fmt"
	"math"
)

// Uniformity compares ranks with uniform ones.
type Uniformity struct {
	// P is the probability that uniform ranks stray at least as far from the diagonal, at the
	// point where they do it most. It is exact.
	P float64
	// Inside says that all points are within the band.
	Inside bool
	Points []Point
}

// Point is one of the distribution function of ranks. Lo and Hi are the band that uniform ranks
// leave anywhere with at most the probability asked for.
type Point struct{ At, CDF, Lo, Hi float64 }

// mostPoints are compared; of more ranks than that, points at even distances.
const mostPoints = 100

// Uniform tests ranks among m draws, from 0 to m, one of each equation. chance is the probability
// that uniform ranks leave the band, 0.05 for example.
//
// The number of ranks that are at most k is binomial with n trials of probability (k+1)/(m+1).
// γ(k) is twice the smaller probability of as few or as many. P and the band are those of the
// least γ over all k, whose law follows from that of a Markov chain in k (Säilynoja, Bürkner and
// Vehtari 2022, doi:10.1007/s11222-022-10090-6).
func Uniform(ranks []int, m int, chance float64) (u Uniformity, err error) {
	if len(ranks) == 0 || m < 1 || !(chance > 0 && chance < 1) {
		return u, errors.New("calibration: want ranks among at least one draw, and a chance between 0 and 1")
	}
	counts := make([]int, m+1)
	for i, r := range ranks {
		if r < 0 || r > m {
			return u, fmt.Errorf("calibration: rank %d is %d, not in 0…%d", i, r, m)
		}
		counts[r]++
	}
	b := newBinomials(len(ranks), m)
	least := 1.0
	observed := make([]int, len(b.at))
	sum, k := 0, 0
	for i, last := range b.ranks {
		for ; k <= last; k++ {
			sum += counts[k]
		}
		observed[i] = sum
		least = min(least, b.gamma[i][sum])
	}
	u.P = 1 - b.within(least*(1+1e-9))
	gamma := b.level(chance)
	u.Inside = true
	n := float64(len(ranks))
	for i, at := range b.at {
		lo, hi := b.allowed(i, gamma)
		u.Points = append(u.Points, Point{at, float64(observed[i]) / n, float64(lo) / n, float64(hi) / n})
		u.Inside = u.Inside && observed[i] >= lo && observed[i] <= hi
	}
	u.P = min(max(u.P, 0), 1)
	return u, nil
}

// binomials are the laws of the numbers of n uniform ranks at or below the points.
type binomials struct {
	n     int
	ranks []int       // at which points are
	at    []float64   // the probabilities of at most that rank
	gamma [][]float64 // by point and number
	logs  []float64   // log k!
}

func newBinomials(n, m int) *binomials {
	b := &binomials{n: n, logs: make([]float64, n+1)}
	for k := 2; k <= n; k++ {
		b.logs[k] = b.logs[k-1] + math.Log(float64(k))
	}
	points := min(m, mostPoints)
	for i := range points {
		rank := (i+1)*m/points - 1 // rank m is no point: all ranks are at most m
		b.ranks = append(b.ranks, rank)
		p := float64(rank+1) / float64(m+1)
		b.at = append(b.at, p)
		b.gamma = append(b.gamma, b.tails(p))
	}
	return b
}

// tails are γ of every number.
func (b *binomials) tails(p float64) []float64 {
	gamma := make([]float64, b.n+1)
	below := 0.0
	for k := range gamma {
		below += b.mass(k, b.n, p)
		gamma[k] = below
	}
	above := 0.0
	for k := b.n; k >= 0; k-- {
		above += b.mass(k, b.n, p)
		gamma[k] = min(2*min(gamma[k], above), 1)
	}
	return gamma
}

// mass is the binomial probability of k of n.
func (b *binomials) mass(k, n int, p float64) float64 {
	if p >= 1 {
		if k == n {
			return 1
		}
		return 0
	}
	return math.Exp(b.logs[n] - b.logs[k] - b.logs[n-k] + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
}

// allowed are the least and the largest number at a point with γ above a level.
func (b *binomials) allowed(point int, level float64) (lo, hi int) {
	gamma := b.gamma[point]
	hi = b.n
	for lo < b.n && gamma[lo] <= level {
		lo++
	}
	for hi > 0 && gamma[hi] <= level {
		hi--
	}
	return lo, hi
}

// within is the probability that γ is above a level at all points.
func (b *binomials) within(level float64) float64 {
	previous, reached := []float64{1}, 0.0 // by number, from first on; and the last point
	first := 0
	for i, at := range b.at {
		lo, hi := b.allowed(i, level)
		if lo > hi {
			return 0
		}
		p := (at - reached) / (1 - reached)
		logP, logRest := math.Log(p), math.Log1p(-p)
		next := make([]float64, hi-lo+1)
		for j, mass := range previous {
			from := first + j
			for to := max(from, lo); to <= hi; to++ {
				k, n := to-from, b.n-from
				next[to-lo] += mass * math.Exp(b.logs[n]-b.logs[k]-b.logs[n-k]+float64(k)*logP+float64(n-k)*logRest)
			}
		}
		previous, first, reached = next, lo, at
	}
	var total float64
	for _, mass := range previous {
		total += mass
	}
	return total
}

// level is the largest one that uniform ranks stay above with probability 1 − chance at least.
func (b *binomials) level(chance float64) float64 {
	lo, hi := math.Log(chance)-20, math.Log(chance)
	for range 30 {
		middle := (lo + hi) / 2
		if b.within(math.Exp(middle)) >= 1-chance {
			lo = middle
		} else {
			hi = middle
		}
	}
	return math.Exp(lo)
}
