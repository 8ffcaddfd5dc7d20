//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"simd/archsimd"
)

// weigh is weighPlain on the widest vectors that the processor has.
func (t task) weigh(s *scratch, at, lo, hi int, top float64, centre, star []float64) {
	vectors := 0
	if hasAVX512 {
		vectors = (hi - lo) / lanes * lanes
		t.weighAVX512(s, at, lo, lo+vectors, top, centre, star)
	}
	t.weighPlain(s, at+vectors, lo+vectors, hi, top, centre, star)
}

// weighAVX512 takes eight sources at once; hi−lo must be a multiple of that.
func (t task) weighAVX512(s *scratch, at, lo, hi int, top float64, centre, star []float64) {
	curvature := archsimd.BroadcastFloat64x8(-math.Log2E / (2 * t.eps))
	slope := archsimd.BroadcastFloat64x8(math.Log2E / t.eps)
	tops, least := archsimd.BroadcastFloat64x8(top), archsimd.BroadcastFloat64x8(-gridSwing)
	for j := lo; j < hi; j += lanes {
		var square archsimd.Float64x8
		source, to := j, at+j-lo
		for k, p := range star {
			y := archsimd.LoadFloat64x8Slice(t.From.x[source : source+lanes])
			z := y.Sub(archsimd.BroadcastFloat64x8(centre[k]))
			square = z.MulAdd(z, square)
			y.Sub(archsimd.BroadcastFloat64x8(p)).Mul(slope).StoreSlice(s.v[to : to+lanes])
			source, to = source+t.From.n, to+s.stride
		}
		e := archsimd.LoadFloat64x8Slice(t.exponent[j : j+lanes]).Sub(tops)
		square.MulAdd(curvature, e).Max(least).StoreSlice(s.a[at+j-lo:][:lanes])
	}
	archsimd.ClearAVXUpperBits()
}
