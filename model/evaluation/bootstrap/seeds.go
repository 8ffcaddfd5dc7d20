package bootstrap

import (
	"cmp"
	"fmt"
	"slices"
)

// MeanOverSeeds is Mean for values[seed][function]: the mean over both. A resample
// draws the same functions for every seed.
func MeanOverSeeds(values [][]float64, units []int, seed uint64) (Interval, error) {
	if _, _, err := validateSeeds(values, units); err != nil {
		return Interval{}, fmt.Errorf("interval of a mean: %w", err)
	}
	averages := make([]float64, len(values[0]))
	for _, v := range values {
		for i := range v {
			averages[i] += v[i] / float64(len(values))
		}
	}
	return Mean(averages, units, seed)
}

// MedianOverSeeds is Median for values[seed][function]: the mean over seeds of the
// medians over functions. A resample draws the same functions for every seed.
func MedianOverSeeds(values [][]float64, units []int, seed uint64) (Interval, error) {
	unitOf, m, err := validateSeeds(values, units)
	if err != nil {
		return Interval{}, fmt.Errorf("interval of a median: %w", err)
	}
	n := len(values[0])
	sorted, order := make([][]float64, len(values)), make([][]int, len(values))
	for k, v := range values {
		for i := range n {
			order[k] = append(order[k], i)
		}
		slices.SortStableFunc(order[k], func(a, b int) int { return cmp.Compare(v[a], v[b]) })
		for _, i := range order[k] {
			sorted[k] = append(sorted[k], v[i])
		}
	}
	statistic := func(counts []int32) float64 {
		permuted := make([]int32, n)
		var sum float64
		for k := range values {
			for rank, i := range order[k] {
				permuted[rank] = counts[i]
			}
			sum += medianOf(permuted, sorted[k])
		}
		return sum / float64(len(values))
	}
	once := slices.Repeat([]int32{1}, n)
	return percentile(statistic(once), resample(unitOf, m, seed, "bootstrap/median", statistic)), nil
}

// validateSeeds is validate for every seed; it checks that all have the same number of
// functions.
func validateSeeds(values [][]float64, units []int) (unitOf []int, m int, err error) {
	if len(values) == 0 {
		return nil, 0, ErrTooFew
	}
	for k, v := range values {
		if unitOf, m, err = validate(v, units); err != nil {
			return nil, 0, err
		}
		if len(v) != len(values[0]) {
			return nil, 0, fmt.Errorf("seed %d has %d functions, the first %d", k, len(v), len(values[0]))
		}
	}
	return unitOf, m, nil
}
