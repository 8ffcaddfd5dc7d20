package metrics

import (
	"fmt"
	"math"
	"slices"
)

// maxExact is the largest product of the sizes for which KS sums the exact law of
// its statistic: about 10 ms.
const maxExact = 1 << 22

// KS is the two-sample Kolmogorov–Smirnov test: the statistic sup |F − G| of the
// empirical distribution functions, and its p-value, the probability of so large a
// statistic for two samples of independent draws from one continuous law. Draws of
// one chain are not independent: their p-values are too small. p is exact if the
// product of the sizes is at most 2²², and else of the limit law. Ties are allowed;
// they make the p-value conservative.
func KS[T float32 | float64](x, y []T) (statistic, p float64, err error) {
	if err := validatePair(line(x), line(y)); err != nil {
		return 0, 0, fmt.Errorf("kolmogorov-smirnov test: %w", err)
	}
	a, b := slices.Clone(x), slices.Clone(y)
	slices.Sort(a)
	slices.Sort(b)
	n, m := len(a), len(b)
	var largest int // |i/n − j/m| in units of 1/nm, exactly
	for i, j := 0, 0; i < n && j < m; {
		at := min(a[i], b[j])
		for i < n && a[i] == at {
			i++
		}
		for j < m && b[j] == at {
			j++
		}
		largest = max(largest, i*m-j*n, j*n-i*m)
	}
	statistic = float64(largest) / float64(n) / float64(m)
	if n <= maxExact/m {
		return statistic, smirnov(max(n, m), min(n, m), largest), nil
	}
	return statistic, kolmogorov(statistic, float64(n)*float64(m)/float64(n+m)), nil
}

// smirnov is the probability that |i/n − j/m| reaches largest/nm somewhere on a
// path of unit steps from (0, 0) to (n, m), if all paths are as likely: the order of
// the n+m draws of two samples is such a path. The last step to (i, j) comes from
// (i−1, j) with the probability i/(i+j). The sums have no cancellation, so small
// probabilities are right too.
func smirnov(n, m, largest int) float64 {
	reached := make([]float64, m+1) // of paths to (i, j), for the present i
	for i := range n + 1 {
		for j := range reached {
			switch difference := i*m - j*n; {
			case difference >= largest || -difference >= largest:
				reached[j] = 1
			case j == 0: // one path, which has not reached it, or reached[0] were 1
				reached[j] = 0
			case i == 0:
				reached[j] = reached[j-1]
			default:
				share := float64(i) / float64(i+j)
				reached[j] = share*reached[j] + (1-share)*reached[j-1]
			}
		}
	}
	return reached[m]
}

// kolmogorov is the probability that the statistic of an effective sample of
// size n exceeds d: the limit law Q(λ) at Stephens' λ = (√n + 0.12 + 0.11/√n) d
// (J. R. Stat. Soc. B 32, 1970). Of its two series, it sums the one that converges
// faster.
func kolmogorov(d, n float64) float64 {
	root := math.Sqrt(n)
	lambda := (root + 0.12 + 0.11/root) * d
	if lambda < 0.04 {
		return 1
	}
	if lambda < 1.18 {
		y := math.Exp(-math.Pi * math.Pi / (8 * lambda * lambda))
		return 1 - math.Sqrt(2*math.Pi)/lambda*(y+math.Pow(y, 9)+math.Pow(y, 25)+math.Pow(y, 49))
	}
	y := math.Exp(-2 * lambda * lambda)
	return 2 * (y - math.Pow(y, 4) + math.Pow(y, 9))
}
