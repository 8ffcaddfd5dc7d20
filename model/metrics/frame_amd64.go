//go:build goexperiment.simd && amd64

package metrics

import (
	"math"
	"simd/archsimd"
)

// frame is framePlain on the widest vectors that the processor has.
func (t task) frame(w *tiles, at, lo, hi int, top float64, centre, star []float64) {
	vectors := 0
	if hasAVX512 {
		vectors = (hi - lo) / 8 * 8
		t.frameAVX512(w, at, lo, lo+vectors, top, centre, star)
	}
	t.framePlain(w, at+vectors, lo+vectors, hi, top, centre, star)
}

// frameAVX512 takes eight sources at once; hi−lo must be a multiple of that.
func (t task) frameAVX512(w *tiles, at, lo, hi int, top float64, centre, star []float64) {
	curvature := archsimd.BroadcastFloat64x8(-math.Log2E / (2 * t.eps))
	perSigma := archsimd.BroadcastFloat64x8(math.Log2E / math.Sqrt(t.eps))
	tops := archsimd.BroadcastFloat64x8(top)
	least := archsimd.BroadcastFloat64x8(leastExponent)
	centre = centre[:len(star)]
	for j := lo; j < hi; j += 8 {
		var square archsimd.Float64x8
		source, to := j, at+j-lo
		for k, p := range star {
			y := archsimd.LoadFloat64x8Slice(t.from.x[source : source+8])
			z := y.Sub(archsimd.BroadcastFloat64x8(centre[k]))
			square = z.MulAdd(z, square)
			y.Sub(archsimd.BroadcastFloat64x8(p)).Mul(perSigma).ConvertToFloat32().StoreSlice(w.v[to : to+8])
			source, to = source+t.from.n, to+w.stride
		}
		e := archsimd.LoadFloat64x8Slice(t.exponent[j : j+8]).Sub(tops)
		square.MulAdd(curvature, e).Max(least).ConvertToFloat32().StoreSlice(w.a[at+j-lo:][:8])
	}
	archsimd.ClearAVXUpperBits()
}
