package bootstrap

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow/data/random"
)

// MeanOverSeeds is Mean for values[seed][function]: the mean over both, with
// the functions resampled, the same of them for every seed.
func MeanOverSeeds(values [][]float64, seed uint64) (Interval, error) {
	if err := paired(values); err != nil {
		return Interval{}, fmt.Errorf("interval of a mean: %w", err)
	}
	averages := make([]float64, len(values[0]))
	for _, v := range values {
		for i := range v {
			averages[i] += v[i] / float64(len(values))
		}
	}
	return Mean(averages, seed)
}

// MedianOverSeeds is Median for values[seed][function]: the mean over seeds of
// the medians over functions, with the same functions resampled for every seed.
func MedianOverSeeds(values [][]float64, seed uint64) (Interval, error) {
	if err := paired(values); err != nil {
		return Interval{}, fmt.Errorf("interval of a median: %w", err)
	}
	sorted, order := make([][]float64, len(values)), make([][]int, len(values))
	for k, v := range values {
		order[k] = make([]int, len(v))
		for i := range order[k] {
			order[k][i] = i
		}
		slices.SortFunc(order[k], func(a, b int) int {
			switch {
			case v[a] < v[b]:
				return -1
			case v[a] > v[b]:
				return 1
			}
			return a - b
		})
		for _, i := range order[k] {
			sorted[k] = append(sorted[k], v[i])
		}
	}
	n := len(values[0])
	statistic := func(counts, permuted []int32) float64 {
		var sum float64
		for k := range values {
			for rank, i := range order[k] {
				permuted[rank] = counts[i]
			}
			sum += medianOf(permuted, sorted[k])
		}
		return sum / float64(len(values))
	}
	medians := make([]float64, resamples)
	var next atomic.Int64
	var group sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		group.Go(func() {
			counts, permuted := make([]int32, n), make([]int32, n)
			for {
				i := int(next.Add(1)) - 1
				if i >= resamples {
					return
				}
				clear(counts)
				rng := random.New(seed, "bootstrap/median", uint64(i))
				for range n {
					counts[rng.Uint32N(uint32(n))]++
				}
				medians[i] = statistic(counts, permuted)
			}
		})
	}
	group.Wait()
	slices.Sort(medians)
	centre := mean(medians)
	var squares float64
	for _, m := range medians {
		squares += (m - centre) * (m - centre)
	}
	once := slices.Repeat([]int32{1}, n)
	return Interval{
		Estimate: statistic(once, make([]int32, n)),
		StdErr:   math.Sqrt(squares / (resamples - 1)),
		Low:      cut(medians, (1-Level)/2),
		High:     cut(medians, (1+Level)/2),
	}, nil
}

// paired checks that every seed has the same number of functions.
func paired(values [][]float64) error {
	if len(values) == 0 {
		return ErrTooFew
	}
	for k, v := range values {
		if err := validate(v); err != nil {
			return err
		}
		if len(v) != len(values[0]) {
			return fmt.Errorf("seed %d has %d functions, the first %d", k, len(v), len(values[0]))
		}
	}
	return nil
}
