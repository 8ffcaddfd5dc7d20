//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"simd/archsimd"
)

// search is searchPlain on the widest vectors that the processor has.
func (t task) search(from *sources, lo, hi int, centre []float64, best int, top float64) (int, float64) {
	vectors := 0
	if hasAVX512 {
		vectors = (hi - lo) / 8 * 8
		best, top = t.searchAVX512(from, lo, lo+vectors, centre, best, top)
	}
	return t.searchPlain(from, lo+vectors, hi, centre, best, top)
}

// searchAVX512 takes eight sources at once; hi−lo must be a multiple of that.
// In most groups no exponent exceeds top, so one comparison decides.
func (t task) searchAVX512(from *sources, lo, hi int, centre []float64, best int, top float64) (int, float64) {
	curvature := archsimd.BroadcastFloat64x8(-math.Log2E / (2 * t.eps))
	for j := lo; j < hi; j += 8 {
		var square archsimd.Float64x8
		at := j
		for _, c := range centre {
			z := archsimd.LoadFloat64x8Slice(from.x[at : at+8]).Sub(archsimd.BroadcastFloat64x8(c))
			square = z.MulAdd(z, square)
			at += from.stride
		}
		e := square.MulAdd(curvature, archsimd.LoadFloat64x8Slice(from.exponent[j:j+8]))
		if e.Greater(archsimd.BroadcastFloat64x8(top)).ToBits() == 0 {
			continue
		}
		var lanes [8]float64
		e.Store(&lanes)
		for lane, v := range lanes {
			if v > top {
				best, top = j+lane, v
			}
		}
	}
	archsimd.ClearAVXUpperBits()
	return best, top
}
