package softmin

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
