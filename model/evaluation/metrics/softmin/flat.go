package softmin

import "math"

// Where ε is far above the squared diameter, all terms of a sum are nearly 1, and
// the softmin is ε times the logarithm of a number near 1, whose rounding is a
// part of ε. With t_j = (potential_j − ½|x−y_j|²)/ε, the form
//
//	−ε log1p((1/M) Σ_j expm1(t_j))
//
// has only the rounding of t. So the divergence at any large blur is half the
// squared distance of the means, as it should be.

// flatRatio is the multiple of the squared diameter above which ε is large: |t| is
// at most about ½ there.
const flatRatio = 4

// runFlat computes the targets lo ≤ i < hi in that form.
func (t task) runFlat(lo, hi int) {
	n, inverse := t.From.n, 1/t.eps
	for i := lo; i < hi; i++ {
		var sum float64
		for j, g := range t.Potential {
			var square float64
			for k := range t.To.d {
				z := t.To.x[k*t.To.n+i] - t.From.x[k*n+j]
				square += z * z
			}
			sum += expm1((g - 0.5*square) * inverse)
		}
		t.Dst[i] = -t.eps * math.Log1p(sum/float64(n))
	}
}

// expm1 is exp(t) − 1. Where |t| ≤ ½ it is Taylor's polynomial, which is faster than
// math.Expm1 and whose remainder is below 2⁻¹²/12! = 5e-13 of t.
func expm1(t float64) float64 {
	if !(math.Abs(t) <= 0.5) {
		return math.Expm1(t)
	}
	p := 1./39916800 + t*(1./479001600)
	for _, c := range [...]float64{1. / 3628800, 1. / 362880, 1. / 40320, 1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1} {
		p = c + t*p
	}
	return t * p
}
