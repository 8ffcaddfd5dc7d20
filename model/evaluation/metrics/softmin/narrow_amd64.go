//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"math/bits"
	"simd/archsimd"
)

// keep is keepPlain on the widest vectors that the processor has.
func (t task) keep(to, from *sources, lo, hi int, top, cut float64, b *box, star []float64) {
	vectors := 0
	if hasAVX512 {
		vectors = (hi - lo) / 8 * 8
		t.keepAVX512(to, from, lo, lo+vectors, top, cut, b, star)
	}
	t.keepPlain(to, from, lo+vectors, hi, top, cut, b, star)
}

// keepAVX512 takes eight sources at once; hi−lo must be a multiple of that.
func (t task) keepAVX512(to, from *sources, lo, hi int, top, cut float64, b *box, star []float64) {
	curvature := archsimd.BroadcastFloat64x8(-math.Log2E / (2 * t.eps))
	slope := archsimd.BroadcastFloat64x8(math.Log2E / t.eps)
	least := archsimd.BroadcastFloat64x8(top - cut)
	centre, radius := b.centre[:len(star)], b.radius[:len(star)]
	for j := lo; j < hi; j += 8 {
		var square, swing archsimd.Float64x8
		at := j
		for k, p := range star {
			y := archsimd.LoadFloat64x8Slice(from.x[at : at+8])
			z := y.Sub(archsimd.BroadcastFloat64x8(centre[k]))
			square = z.MulAdd(z, square)
			w := y.Sub(archsimd.BroadcastFloat64x8(p))
			swing = w.Max(archsimd.Float64x8{}.Sub(w)).MulAdd(archsimd.BroadcastFloat64x8(radius[k]), swing)
			at += from.stride
		}
		e := archsimd.LoadFloat64x8Slice(from.exponent[j : j+8])
		matter := square.MulAdd(curvature, swing.MulAdd(slope, e)).GreaterEqual(least)
		count := bits.OnesCount8(matter.ToBits())
		if count == 0 {
			continue
		}
		e.Compress(matter).StoreSlice(to.exponent[to.n:][:8])
		source, at := j, to.n
		for range star {
			archsimd.LoadFloat64x8Slice(from.x[source : source+8]).Compress(matter).StoreSlice(to.x[at : at+8])
			source, at = source+from.stride, at+to.stride
		}
		to.n += count
	}
	archsimd.ClearAVXUpperBits()
}
