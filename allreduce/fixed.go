package allreduce

import "math"

// FixedPoint adds numbers as whole multiples of 2^Exponent. Integer sums are exact,
// so the result has the same bits in any order.
type FixedPoint struct {
	Exponent int // of the unit
	// Terms bounds the number of terms over all ranks; more might overflow.
	Terms int
}

// Add rounds v to units, to nearest, ties to even, and adds it to words. It reports
// whether all numbers fit, that is, are finite and at most 2^62/Terms units. If they do
// not, the words are invalid.
func (f FixedPoint) Add(words []int64, v []float32) bool {
	words = words[:len(v)]
	limit := math.Ldexp(1, 62) / float64(f.Terms)
	scale := math.Ldexp(1, -f.Exponent)
	fit := true
	for i, x := range v {
		units := math.RoundToEven(float64(x) * scale)
		fit = fit && math.Abs(units) <= limit // false for NaN
		words[i] += int64(units)
	}
	return fit
}

// Floats writes the numbers that the words stand for.
func (f FixedPoint) Floats(dst []float32, words []int64) {
	unit := math.Ldexp(1, f.Exponent)
	for i, w := range words[:len(dst)] {
		dst[i] = float32(float64(w) * unit)
	}
}
