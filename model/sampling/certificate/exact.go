package certificate

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/bucketsort"
)

// test compares samples with the law:
//
//	name      effect                                       Z
//	ks        largest difference of distribution functions √n times it
//	w2        W2 in deviations of the law                  W2 over its root mean square by chance
//	mean      (mean − m)/s                                 in standard errors
//	variance  variance/s² − 1                              in standard errors
//
// The last three need a law with a variance s². Their standard errors are those of draws of the
// law, or of the samples where those are larger: samples that lack a rare well, by chance, do not
// show how much the means of such samples vary.
func (l *Law) test(x []float32, effective float64) (checks []Check) {
	sorted := rising(x)
	n := float64(len(sorted))
	ks, square := l.from(sorted)
	checks = append(checks, check(kolmogorov, "ks", ks, math.Sqrt(effective)*ks,
		fmt.Sprintf("the samples' distribution function differs from the law's by up to %.2g (Kolmogorov–Smirnov distance)", ks)))
	if math.IsNaN(l.Mean) || math.IsNaN(l.Variance) || !(l.Variance > 0) {
		return checks
	}
	s, chance := math.Sqrt(l.Variance), l.chance(effective)
	var first, second, fourth float64 // moments about the law's mean
	for _, v := range sorted {
		d := (v - l.Mean) * (v - l.Mean)
		first += (v - l.Mean) / n
		second += d / n
		fourth += d * d / n
	}
	mean, variance := l.Mean+first, second-first*first
	spread := max(l.fourth-l.Variance*l.Variance, fourth-second*second) // of the squares
	checks = append(checks,
		check(wasserstein, "w2", math.Sqrt(square)/s, math.Sqrt(square/chance),
			fmt.Sprintf("the samples are %.2g of the law's deviations away from it (W2)", math.Sqrt(square)/s)),
		check(moment, "mean", first/s, over(first, math.Sqrt(max(l.Variance, variance)/effective)),
			fmt.Sprintf("the samples' mean is %.4g, the law's is %.4g", mean, tidy(l.Mean, s))),
		check(moment, "variance", variance/l.Variance-1, over(second-l.Variance, math.Sqrt(spread/effective)),
			fmt.Sprintf("the samples' variance is %.4g, the law's is %.4g", variance, l.Variance)))
	return checks
}

// tidy is a mean without the rounding of one that is zero.
func tidy(mean, deviation float64) float64 {
	if math.Abs(mean) < 1e-6*deviation {
		return 0
	}
	return mean
}

// over is an error in standard errors. Where samples do not vary there is no chance.
func over(v, deviation float64) float64 {
	if v == 0 {
		return 0
	}
	return v / deviation
}

// rising returns the samples in rising order, in double precision.
func rising(x []float32) []float64 {
	values, sorted := make([]float64, len(x)), make([]float64, len(x))
	for i, v := range x {
		values[i] = float64(v)
	}
	new(bucketsort.Sorter).Sort(sorted, values)
	return sorted
}
