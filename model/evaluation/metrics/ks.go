package metrics

import (
	"fmt"
	"math"
	"slices"
)

// KS is the two-sample Kolmogorov–Smirnov test: the statistic sup |F − G| of the
// empirical distribution functions, and its asymptotic p-value, the probability
// of a larger statistic for two samples of one continuous law. Ties are allowed;
// they make the p-value conservative.
func KS(x, y []float32) (statistic, p float64, err error) {
	if err := validatePair(Line(x), Line(y)); err != nil {
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
	return statistic, kolmogorov(statistic, float64(n)*float64(m)/float64(n+m)), nil
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
