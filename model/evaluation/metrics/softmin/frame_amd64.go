//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"simd/archsimd"
)

// frame is framePlain on the widest vectors that the processor has.
func (t task) frame(w *tiles, from *sources, top float64, centre, star []float64) {
	vectors := 0
	if hasAVX512 {
		vectors = from.n / 8 * 8
		t.frameAVX512(w, from, vectors, top, centre, star)
	}
	t.framePlain(w, from, vectors, top, centre, star)
}

// frameAVX512 takes eight sources at once, the first n, a multiple of that.
func (t task) frameAVX512(w *tiles, from *sources, n int, top float64, centre, star []float64) {
	curvature := archsimd.BroadcastFloat64x8(-math.Log2E / (2 * t.eps))
	perSigma := archsimd.BroadcastFloat64x8(math.Log2E / math.Sqrt(t.eps))
	tops := archsimd.BroadcastFloat64x8(top)
	least := archsimd.BroadcastFloat64x8(leastExponent)
	centre = centre[:len(star)]
	for j := 0; j < n; j += 8 {
		var square archsimd.Float64x8
		source, to := j, j
		for k, p := range star {
			y := archsimd.LoadFloat64x8Slice(from.x[source : source+8])
			z := y.Sub(archsimd.BroadcastFloat64x8(centre[k]))
			square = z.MulAdd(z, square)
			y.Sub(archsimd.BroadcastFloat64x8(p)).Mul(perSigma).ConvertToFloat32().StoreSlice(w.v[to : to+8])
			source, to = source+from.stride, to+w.stride
		}
		e := square.MulAdd(curvature, archsimd.LoadFloat64x8Slice(from.exponent[j:j+8]))
		e.Sub(tops).Max(least).ConvertToFloat32().StoreSlice(w.a[j : j+8])
	}
	archsimd.ClearAVXUpperBits()
}
