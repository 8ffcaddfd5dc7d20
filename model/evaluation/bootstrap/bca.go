package bootstrap

import (
	"math"
	"sort"
)

// bca is the bias-corrected, accelerated interval: the quantiles of the sorted
// resampled statistics at
//
//	u = Φ(z₀ + (z₀+z)/(1 − a(z₀+z))),  z = ∓1.96.
//
// The bias correction z₀ is such that Φ(z₀) is the fraction of resamples below the
// estimate, ties counted half. The acceleration a is the rate at which the standard
// deviation changes with the mean, on the normal scale; |a| of a mean is at most
// 1/6, so the denominator stays positive.
func bca(sorted []float64, estimate, a float64) (low, high float64) {
	n := float64(len(sorted))
	below := sort.SearchFloat64s(sorted, estimate)
	upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > estimate })
	fraction := float64(below+upTo) / 2 / n
	z0 := normalQuantile(min(max(fraction, 0.5/n), 1-0.5/n))
	end := func(u float64) float64 {
		z := z0 + normalQuantile(u)
		return quantile(sorted, normalCDF(z0+z/(1-a*z)))
	}
	return end((1 - Level) / 2), end((1 + Level) / 2)
}

// quantile is quantile u of sorted values: the order statistic of rank (n+1)u, rounded
// and limited to 1…n.
func quantile(sorted []float64, u float64) float64 {
	k := int(math.Round(u * float64(len(sorted)+1)))
	return sorted[min(max(k, 1), len(sorted))-1]
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func normalQuantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
