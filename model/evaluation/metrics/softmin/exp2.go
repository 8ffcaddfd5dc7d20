package softmin

import "math"

const (
	roundMagic = 3 << 51 // adding it rounds a float64 of moderate size to an integer

	// 2^f on [−½, ½], degree 7, relative error 4e-11 (weighted least squares,
	// reweighted to equal ripple).
	exp2c0 = 0.9999999999616819
	exp2c1 = 0.6931471807284529
	exp2c2 = 0.24022651198155293
	exp2c3 = 0.05550410353430745
	exp2c4 = 0.009618027253906083
	exp2c5 = 0.0013333922578568746
	exp2c6 = 0.00015469291075062314
	exp2c7 = 1.5201917913273411e-05

	// exponentRange is the largest |x| for which exp2 is right.
	exponentRange = 1000
)

// exp2 is 2^x for |x| ≤ exponentRange, with relative error 5e-11.
func exp2(x float64) float64 {
	shifted := x + roundMagic
	f := x - (shifted - roundMagic)
	f2 := f * f
	p := (exp2c0 + exp2c1*f) + f2*((exp2c2+exp2c3*f)+f2*((exp2c4+exp2c5*f)+f2*(exp2c6+exp2c7*f)))
	// The low bits of shifted hold the integer part: add it to p's exponent.
	return math.Float64frombits(math.Float64bits(p) + math.Float64bits(shifted)<<52)
}

// lanes is the number of float64 elements in a vector of AVX-512. Kernels take a
// multiple of it: see pad.
const lanes = 8

// expSumPlain is Σ_j 2^(a_j + Σ_k u_k v_kj), where v_kj is v[k*stride+j].
// Exponents must be within ±exponentRange. It sums blocks of 256, then the blocks.
func expSumPlain(a, v []float64, stride int, u []float64) float64 {
	if len(u) == 1 {
		return expSumLine(a, v, u[0])
	}
	var exponent [256]float64
	var sum float64
	for lo := 0; lo < len(a); lo += len(exponent) {
		hi := min(lo+len(exponent), len(a))
		e := exponent[:hi-lo]
		first := v[lo:hi]
		for j, base := range a[lo:hi] {
			e[j] = base + u[0]*first[j]
		}
		for k, w := range u[1:] {
			for j, slope := range v[(k+1)*stride+lo : (k+1)*stride+hi] {
				e[j] += w * slope
			}
		}
		var part float64
		for _, x := range e {
			part += exp2(x)
		}
		sum += part
	}
	return sum
}

// expSumLine is expSumPlain in one dimension, where exponents need no array.
func expSumLine(a, v []float64, u float64) float64 {
	v = v[:len(a)]
	var s0, s1 float64
	j := 0
	for ; j+2 <= len(a); j += 2 {
		s0 += exp2(a[j] + u*v[j])
		s1 += exp2(a[j+1] + u*v[j+1])
	}
	if j < len(a) {
		s0 += exp2(a[j] + u*v[j])
	}
	return s0 + s1
}

// pad appends sources of weight 2^−exponentRange up to a multiple of vector.
func pad[T float32 | float64](a, v []T, stride, kept, dimensions, vector int) (padded int) {
	padded = (kept + vector - 1) / vector * vector
	for j := kept; j < padded; j++ {
		a[j] = -exponentRange
		for k := range dimensions {
			v[k*stride+j] = 0
		}
	}
	return padded
}
