package metrics

import (
	"fmt"
	"math"
	"slices"
)

// W2 is the Wasserstein-2 distance of two samples on the line,
//
//	W2² = ∫₀¹ (F⁻¹(u) − G⁻¹(u))² du,
//
// exact for any two sizes, since the monotone coupling is optimal. The unit is
// that of the samples. Time is that of sorting.
func W2(x, y []float32) (float64, error) {
	if err := validatePair(Line(x), Line(y)); err != nil {
		return 0, fmt.Errorf("wasserstein distance: %w", err)
	}
	a, b := slices.Clone(x), slices.Clone(y)
	slices.Sort(a)
	slices.Sort(b)
	return math.Sqrt(squaredW2(a, b)), nil
}

// squaredW2 is W2² of sorted samples. Quantile functions are constant between
// multiples of 1/N and 1/M, so positions in units of 1/NM are exact integers.
func squaredW2[T float32 | float64](a, b []T) float64 {
	n, m := len(a), len(b)
	var sum, part float64
	if n == m {
		for i, v := range a {
			d := float64(v) - float64(b[i])
			part += d * d
			if i%1024 == 1023 { // bounds the rounding of long sums
				sum, part = sum+part, 0
			}
		}
		return (sum + part) / float64(n)
	}
	for i, j, at := 0, 0, 0; i < n && j < m; {
		next := min((i+1)*m, (j+1)*n)
		d := float64(a[i]) - float64(b[j])
		part += d * d * float64(next-at)
		at = next
		if at == (i+1)*m {
			i++
		}
		if at == (j+1)*n {
			j++
		}
		if (i+j)%1024 == 1023 {
			sum, part = sum+part, 0
		}
	}
	return (sum + part) / float64(n) / float64(m)
}
