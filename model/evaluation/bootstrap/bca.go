package bootstrap

import (
	"math"
	"sort"
)

// bca cuts the sorted resampled statistics where the normal scale on which
// estimate is unbiased with a standard deviation of 1 + a·(its mean) has its
// quantiles:
//
//	u = Φ(z₀ + (z₀+z)/(1 − a(z₀+z))),  z = ∓1.96,
//
// Φ(z₀) being the part of the resamples below the estimate, ties by half. |a| of
// a mean is at most 1/6, so the denominator stays positive.
func bca(sorted []float64, estimate, a float64) (low, high float64) {
	n := float64(len(sorted))
	below := sort.SearchFloat64s(sorted, estimate)
	upTo := sort.Search(len(sorted), func(i int) bool { return sorted[i] > estimate })
	part := float64(below+upTo) / 2 / n
	z0 := normalQuantile(min(max(part, 0.5/n), 1-0.5/n))
	end := func(u float64) float64 {
		z := z0 + normalQuantile(u)
		return cut(sorted, normalCDF(z0+z/(1-a*z)))
	}
	return end((1 - Level) / 2), end((1 + Level) / 2)
}

// cut is the order statistic (n+1)u, or the outermost.
func cut(sorted []float64, u float64) float64 {
	k := int(math.Round(u * float64(len(sorted)+1)))
	return sorted[min(max(k, 1), len(sorted))-1]
}

func normalCDF(z float64) float64 { return math.Erfc(-z/math.Sqrt2) / 2 }

func normalQuantile(u float64) float64 { return math.Sqrt2 * math.Erfinv(2*u-1) }
