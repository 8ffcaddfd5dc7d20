package main

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/ergoflow/ergoflow/data/random"
)

// resampler has resamples of n functions with replacement: how often each one is drawn.
type resampler struct {
	n      int
	counts [][]float64
	t      float64 // quantile of Student's distribution
}

func newResampler(n, resamples int) resampler {
	r := resampler{n: n, t: distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(n - 1)}.Quantile(1 - level)}
	rng := random.New(seed, "gate/bootstrap", uint64(n))
	for range resamples {
		counts := make([]float64, n)
		for range n {
			counts[rng.IntN(n)]++
		}
		r.counts = append(r.counts, counts)
	}
	return r
}

// better reports which of four intervals of the mean of champion − candidate are above zero:
// percentile, BCa, bootstrap-t, Student's t.
func (r resampler) better(candidate, champion []float64) [4]bool {
	n := float64(r.n)
	gains, squares := make([]float64, r.n), make([]float64, r.n)
	var mean float64
	for i := range gains {
		gains[i] = champion[i] - candidate[i]
		squares[i] = gains[i] * gains[i]
		mean += gains[i] / n
	}
	var second, third float64
	for _, g := range gains {
		d := g - mean
		second += d * d
		third += d * d * d
	}
	deviation := math.Sqrt(second / (n - 1) / n)
	means, ratios := make([]float64, len(r.counts)), make([]float64, len(r.counts))
	below := 0.5
	for k, counts := range r.counts {
		var sum, sumSquares float64
		for i, c := range counts {
			sum += c * gains[i]
			sumSquares += c * squares[i]
		}
		means[k] = sum / n
		if means[k] < mean {
			below++
		}
		variance := max(sumSquares/n-means[k]*means[k], 0)
		if ratios[k] = (means[k] - mean) / math.Sqrt(variance/(n-1)); math.IsNaN(ratios[k]) {
			ratios[k] = 0
		}
	}
	slices.Sort(means)
	slices.Sort(ratios)
	at := func(sorted []float64, u float64) float64 {
		return sorted[min(max(int(math.Round(u*float64(len(sorted)+1))), 1), len(sorted))-1]
	}
	standard := distuv.UnitNormal
	bias := standard.Quantile(min(below/float64(len(means)), 1-0.5/float64(len(means))))
	z := bias + standard.Quantile(level)
	acceleration := third / (6 * math.Pow(second, 1.5))
	return [4]bool{
		at(means, level) > 0,
		at(means, standard.CDF(bias+z/(1-acceleration*z))) > 0,
		mean-at(ratios, 1-level)*deviation > 0,
		mean > r.t*deviation,
	}
}
