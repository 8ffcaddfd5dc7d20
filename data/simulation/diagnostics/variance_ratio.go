package diagnostics

import (
	"math"

	"gonum.org/v1/gonum/stat"
)

// VarianceRatio is by what part the variances of a are above those of b, on average over the coordinates,
// and the standard error of that. Both are [chains, n, dim]; chain by chain they may be alike, and the
// error is that of their differences. Coordinates of b that do not vary count as without excess.
func VarianceRatio(a, b []float32, dim, chains int) (excess, deviation float64) {
	means, variances := make([][2]float64, dim), make([]float64, dim) // of a and b; of b
	n := float64(len(a) / dim)
	for at := range a {
		means[at%dim][0] += float64(a[at]) / n
		means[at%dim][1] += float64(b[at]) / n
	}
	for at, v := range b {
		k := at % dim
		variances[k] += (float64(v) - means[k][1]) * (float64(v) - means[k][1]) / n
	}
	width := len(a) / chains
	of := make([]float64, chains)
	for at := range a {
		k := at % dim
		if variances[k] == 0 {
			continue
		}
		x, y := float64(a[at])-means[k][0], float64(b[at])-means[k][1]
		of[at/width] += (x*x - y*y) / variances[k] / float64(width)
	}
	mean, variance := stat.PopMeanVariance(of, nil)
	return mean, math.Sqrt(variance / float64(chains))
}
