// Package weights corrects draws of a density q for a law p by their weights w = p/q. It takes
// logarithms of weights, up to a constant: p needs no normalisation. Weighted means are
// consistent if q is positive wherever p is.
package weights

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
)

// ErrDegenerate means that no draw has a weight.
var ErrDegenerate = errors.New("no draw has a weight")

// Weights are those of draws. They are not negative and sum up to 1.
type Weights []float64

// FromLogs normalises log w. Weights of −∞ are zero. It refuses NaN, +∞ and draws none of which
// has a weight (ErrDegenerate).
func FromLogs(logs []float64) (Weights, error) {
	for i, v := range logs {
		if math.IsNaN(v) || math.IsInf(v, 1) {
			return nil, fmt.Errorf("the logarithm of weight %d is %v", i, v)
		}
	}
	if len(logs) == 0 || math.IsInf(slices.Max(logs), -1) {
		return nil, ErrDegenerate
	}
	top, total := slices.Max(logs), 0.0
	w := make(Weights, len(logs))
	for i, v := range logs {
		w[i] = math.Exp(v - top)
		total += w[i]
	}
	for i := range w {
		w[i] /= total
	}
	return w, nil
}

// ESS is the number of independent draws of p that the draws are worth (Kish),
// (Σw)²/Σw²: n if all weights are equal, 1 if one draw has all.
func (w Weights) ESS() float64 {
	var squares float64
	for _, v := range w {
		squares += v * v
	}
	return 1 / squares
}

// Mean is Σ w f over the draws.
func (w Weights) Mean(f []float64) (mean float64) {
	for i, v := range w {
		mean += v * f[i]
	}
	return mean
}

// Resample draws n of the draws by their weights: indices in rising order. It is systematic:
// draw i comes ⌊n·wᵢ⌋ or ⌊n·wᵢ⌋ + 1 times (Kitagawa 1996).
func (w Weights) Resample(n int, rng *rand.Rand) []int {
	drawn := make([]int, n)
	at, i, sum := rng.Float64(), 0, w[0]
	for k := range drawn {
		u := (float64(k) + at) / float64(n)
		for sum < u && i+1 < len(w) {
			i++
			sum += w[i]
		}
		for w[i] == 0 { // rounding of the sum may lead beyond the last weight
			i--
		}
		drawn[k] = i
	}
	return drawn
}

// Temper finds the weights w^λ with the largest λ ≤ most that are worth at least part of the
// draws, by bisection to nine digits.
func Temper(logs []float64, most, part float64) (w Weights, lambda float64, err error) {
	scaled := make([]float64, len(logs))
	at := func(lambda float64) (Weights, error) {
		for i, v := range logs {
			scaled[i] = lambda * v
		}
		return FromLogs(scaled)
	}
	if w, err = at(most); err != nil || w.ESS() >= part*float64(len(logs)) {
		return w, most, err
	}
	lo, hi := 0.0, most
	for hi-lo > 1e-9*hi {
		middle := (lo + hi) / 2
		if w, err = at(middle); err != nil {
			return nil, 0, err
		}
		if w.ESS() >= part*float64(len(logs)) {
			lo = middle
		} else {
			hi = middle
		}
	}
	w, err = at(hi)
	return w, hi, err
}

// Metropolis runs the independence sampler (Tierney 1994, algorithm of Hastings with proposals
// from q): draw i is accepted after draw j with the probability min(1, wᵢ/wⱼ), and otherwise j
// stays. The chain starts at the first draw that has a weight, visits the draws in their order,
// and has p as its invariant law. accepted is the part of the proposals that were.
func Metropolis(logs []float64, rng *rand.Rand) (chain []int, accepted float64, err error) {
	if _, err := FromLogs(logs); err != nil {
		return nil, 0, err
	}
	at := slices.IndexFunc(logs, func(v float64) bool { return !math.IsInf(v, -1) })
	chain = make([]int, len(logs))
	moves := 0
	for i, v := range logs {
		if u := rng.Float64(); i > at && math.Log(u) < v-logs[at] {
			at = i
			moves++
		}
		chain[i] = at
	}
	return chain, float64(moves) / float64(max(len(logs)-1, 1)), nil
}
