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
func W2[T float32 | float64](x, y []T) (float64, error) {
	if err := validatePair(line(x), line(y)); err != nil {
		return 0, fmt.Errorf("wasserstein distance: %w", err)
	}
	a, b := slices.Clone(x), slices.Clone(y)
	slices.Sort(a)
	slices.Sort(b)
	unit := squarable(a, b)
	return math.Sqrt(squaredW2(a, b)) * unit, nil
}

// squarable divides sorted samples, of which squares of differences could leave the
// range of float64, by a power of two, and returns it. Others keep the unit 1.
func squarable[T float32 | float64](a, b []T) (unit float64) {
	largest := float64(max(-a[0], a[len(a)-1], -b[0], b[len(b)-1]))
	if largest == 0 || largest > 1e-100 && largest < 1e100 {
		return 1
	}
	unit = math.Ldexp(1, math.Ilogb(largest))
	for _, x := range [][]T{a, b} {
		for i, v := range x {
			x[i] = T(float64(v) / unit)
		}
	}
	return unit
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
