// Package bootstrap gives confidence intervals for means and medians over
// functions by resampling (Efron and Tibshirani, An Introduction to the
// Bootstrap, 1993). Distances over functions have a long right tail, so intervals
// that are symmetric about the mean would be wrong on both sides.
//
// Functions are resampled, the samples behind each function's number are not:
// an interval says how far the number depends on which functions were held out,
// not on the seed of training.
package bootstrap

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow/data/random"
)

// Level is the coverage that intervals aim at.
const Level = 0.95

// resamples is odd and one less than a round number, so that (resamples+1)·α/2
// is whole.
const resamples = 9999

// maxValues bounds the work: a resample draws as many numbers as there are.
const maxValues = 1 << 20

// ErrTooFew says that there are fewer than two values, which show no spread.
var ErrTooFew = errors.New("fewer than two values")

// Interval is an estimate with its uncertainty.
type Interval struct {
	Estimate float64 `json:"estimate"`
	StdErr   float64 `json:"std_err"`
	Low      float64 `json:"low"` // ends of the interval of the Level
	High     float64 `json:"high"`
}

// Mean is the mean of the values with its standard error s/√n and the
// bias-corrected, accelerated interval (BCa; Efron, J. Am. Stat. Assoc. 82,
// 1987), whose ends are right to second order, skewed as values may be. Few and
// skewed values still cover less than the Level: 60 exponential ones 93 %.
func Mean(values []float64, seed uint64) (Interval, error) {
	if err := validate(values); err != nil {
		return Interval{}, fmt.Errorf("interval of a mean: %w", err)
	}
	n := float64(len(values))
	estimate := mean(values)
	var squares, cubes float64
	for _, v := range values {
		d := v - estimate
		squares += d * d
		cubes += d * d * d
	}
	i := Interval{Estimate: estimate, StdErr: math.Sqrt(squares / (n - 1) / n)}
	if squares == 0 {
		i.Low, i.High = estimate, estimate
		return i, nil
	}
	means := resample(values, seed, "bootstrap/mean", func(counts []int32, sorted []float64) float64 {
		var sum float64
		for k, c := range counts {
			sum += float64(c) * sorted[k]
		}
		return sum / n
	})
	// The jackknife's acceleration of a mean is its skewness over 6√n.
	i.Low, i.High = bca(means, estimate, cubes/(6*squares*math.Sqrt(squares)))
	return i, nil
}

// Median is the median of the values with the standard deviation of resampled
// medians and the percentile interval: those of the resampled medians that cut
// off (1−Level)/2 on each side. BCa needs the jackknife, which fails for a
// median; and percentiles carry over to any monotone scale, as medians do.
func Median(values []float64, seed uint64) (Interval, error) {
	if err := validate(values); err != nil {
		return Interval{}, fmt.Errorf("interval of a median: %w", err)
	}
	medians := resample(values, seed, "bootstrap/median", medianOf)
	centre := mean(medians)
	var squares float64
	for _, m := range medians {
		squares += (m - centre) * (m - centre)
	}
	sorted := slices.Sorted(slices.Values(values))
	return Interval{
		Estimate: (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2,
		StdErr:   math.Sqrt(squares / (resamples - 1)),
		Low:      cut(medians, (1-Level)/2),
		High:     cut(medians, (1+Level)/2),
	}, nil
}

func validate(values []float64) error {
	if len(values) < 2 {
		return ErrTooFew
	}
	if len(values) > maxValues {
		return fmt.Errorf("%d values are more than %d", len(values), maxValues)
	}
	for i, v := range values {
		if v-v != 0 {
			return fmt.Errorf("value %d is %v", i, v)
		}
	}
	return nil
}

func mean(values []float64) float64 {
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// resample draws n of the n values with replacement, again and again, and
// returns the statistics in rising order. A statistic is told how often each of
// the sorted values was drawn. Resample i depends on (seed, purpose, i) alone.
func resample(values []float64, seed uint64, purpose string, statistic func(counts []int32, sorted []float64) float64) []float64 {
	sorted := slices.Sorted(slices.Values(values))
	statistics := make([]float64, resamples)
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			counts := make([]int32, len(sorted))
			for {
				i := int(next.Add(1)) - 1
				if i >= resamples {
					return
				}
				clear(counts)
				rng := random.New(seed, purpose, uint64(i))
				for range sorted {
					counts[rng.Uint32N(uint32(len(sorted)))]++
				}
				statistics[i] = statistic(counts, sorted)
			}
		})
	}
	group.Wait()
	slices.Sort(statistics)
	return statistics
}

// medianOf is the median of a resample: the value at which half the draws are
// passed, or the middle of the two about it.
func medianOf(counts []int32, sorted []float64) float64 {
	lower, upper := (len(sorted)-1)/2, len(sorted)/2 // ranks of draws
	passed, k := 0, 0
	for ; passed+int(counts[k]) <= lower; k++ {
		passed += int(counts[k])
	}
	low := sorted[k]
	for ; passed+int(counts[k]) <= upper; k++ {
		passed += int(counts[k])
	}
	return (low + sorted[k]) / 2
}
