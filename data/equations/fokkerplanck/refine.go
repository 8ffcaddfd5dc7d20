package fokkerplanck

import "gonum.org/v1/gonum/floats"

// change is the largest difference of the masses of quadrants between cells [n, n] and those of twice the
// size, at the corners of the latter.
func (g grid) change(coarse, fine []float64) float64 {
	half := grid{g.axes, g.n / 2}
	before, after := quadrants{half.cumulated(coarse), half.n + 1}, quadrants{half.cumulated(g.joined(fine)), half.n + 1}
	_, most := before.apart(after, false)
	return most
}

// joined are the masses of cells of twice the size.
func (g grid) joined(fine []float64) []float64 {
	half := g.n / 2
	coarse := make([]float64, half*half)
	for at, m := range fine {
		coarse[at/g.n/2*half+at%g.n/2] += m
	}
	return coarse
}

// extrapolated are masses of the cells without the largest part of their error, which those of twice the
// size show (Richardson): it falls with the square of the size, and with the size itself where there is no noise
// along a coordinate. The joined masses are extrapolated, and each of the four gets its part.
func (g grid) extrapolated(coarse []float64, fine solution) []float64 {
	more := 1. / 3
	if fine.upwind > few {
		more = 1
	}
	half, sums := g.n/2, g.joined(fine.mass)
	masses := make([]float64, len(fine.mass))
	for at, m := range fine.mass {
		whole := at/g.n/2*half + at%g.n/2
		if sum := sums[whole]; sum > 0 {
			masses[at] = m * max(sum+float64(more*(sum-coarse[whole])), 0) / sum
		}
	}
	floats.Scale(1/floats.Sum(masses), masses)
	return masses
}
