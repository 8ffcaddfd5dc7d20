//go:build goexperiment.simd && amd64

package softmin

import (
	"math"
	"math/bits"
	"simd/archsimd"
)

// gather is gatherPlain on vectors of four, which every processor with vectors has.
func (t task) gather(s *scratch, kept, lo, hi int, top float64, b *box, star []float64) (int, bool) {
	if !hasAVX2 {
		return t.gatherPlain(s, kept, lo, hi, top, b, star)
	}
	vectors := (hi - lo) / 4 * 4
	kept, ok := t.gatherAVX2(s, kept, lo, lo+vectors, top, b, star)
	if !ok {
		return kept, false
	}
	return t.gatherPlain(s, kept, lo+vectors, hi, top, b, star)
}

// packs has, for each set of lanes, the halves of float64 that move them to the front.
var packs = func() (table [16][8]uint32) {
	for set := range table {
		at := 0
		for lane := range uint32(4) {
			if set>>lane&1 == 1 {
				table[set][at], table[set][at+1] = 2*lane, 2*lane+1
				at += 2
			}
		}
	}
	return table
}()

// gatherAVX2 takes four sources at once; hi−lo must be a multiple of that. It writes up to three
// places behind the last source that it keeps.
func (t task) gatherAVX2(s *scratch, kept, lo, hi int, top float64, b *box, star []float64) (int, bool) {
	curvature := archsimd.BroadcastFloat64x4(-math.Log2E / (2 * t.eps))
	slope := archsimd.BroadcastFloat64x4(math.Log2E / t.eps)
	tops, most := archsimd.BroadcastFloat64x4(top), archsimd.BroadcastFloat64x4(nearlyDominant)
	least, farthest := archsimd.BroadcastFloat64x4(-lineCut), archsimd.BroadcastFloat64x4(exponentRange)
	n, x := t.From.n, t.From.x
	centre, radius := b.centre[:len(star)], b.radius[:len(star)]
	for j := lo; j < hi; j += 4 {
		var square, swing archsimd.Float64x4
		at := j
		for k, p := range star {
			y := archsimd.LoadFloat64x4Slice(x[at : at+4])
			z := y.Sub(archsimd.BroadcastFloat64x4(centre[k]))
			square = z.MulAdd(z, square)
			w := y.Sub(archsimd.BroadcastFloat64x4(p))
			swing = w.Max(archsimd.Float64x4{}.Sub(w)).MulAdd(archsimd.BroadcastFloat64x4(radius[k]), swing)
			at += n
		}
		e := square.MulAdd(curvature, archsimd.LoadFloat64x4Slice(t.exponent[j:j+4])).Sub(tops).Min(most)
		swing = swing.Mul(slope)
		matter := e.Add(swing).GreaterEqual(least).ToBits()
		if matter == 0 {
			continue
		}
		if matter&swing.Sub(e).Greater(farthest).ToBits() != 0 {
			archsimd.ClearAVXUpperBits()
			return kept, false
		}
		pack := archsimd.LoadUint32x8(&packs[matter])
		e.AsUint32x8().Permute(pack).AsFloat64x4().StoreSlice(s.a[kept : kept+4])
		source, to := j, kept
		for _, p := range star {
			y := archsimd.LoadFloat64x4Slice(x[source : source+4])
			v := y.Sub(archsimd.BroadcastFloat64x4(p)).Mul(slope)
			v.AsUint32x8().Permute(pack).AsFloat64x4().StoreSlice(s.v[to : to+4])
			source, to = source+n, to+s.stride
		}
		kept += bits.OnesCount8(matter)
	}
	archsimd.ClearAVXUpperBits()
	return kept, true
}
