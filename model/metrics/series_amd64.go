//go:build goexperiment.simd && amd64

package metrics

import "simd/archsimd"

// seriesPerPair is how many terms, each for a source or a target, take the time
// of one exponential: less where exponentials alone have vectors.
var seriesPerPair = func() float64 {
	if hasAVX2 && !hasAVX512 {
		return 0.5
	}
	return 2
}()

// multiply is multiplyPlain on the widest vectors that the processor has.
func multiply(x, y *seriesBlock) {
	if !hasAVX512 {
		multiplyPlain(x, y)
		return
	}
	for i := 0; i < seriesPoints; i += 8 {
		archsimd.LoadFloat64x8Slice(x[i : i+8]).Mul(archsimd.LoadFloat64x8Slice(y[i : i+8])).StoreSlice(x[i : i+8])
	}
	archsimd.ClearAVXUpperBits()
}

// addPowers is addPowersPlain on the widest vectors that the processor has.
func addPowers(lanes [][8]float64, factor, y *seriesBlock) {
	if !hasAVX512 {
		addPowersPlain(lanes, factor, y)
		return
	}
	v0, v1 := archsimd.LoadFloat64x8Slice(factor[0:8]), archsimd.LoadFloat64x8Slice(factor[8:16])
	v2, v3 := archsimd.LoadFloat64x8Slice(factor[16:24]), archsimd.LoadFloat64x8Slice(factor[24:32])
	y0, y1 := archsimd.LoadFloat64x8Slice(y[0:8]), archsimd.LoadFloat64x8Slice(y[8:16])
	y2, y3 := archsimd.LoadFloat64x8Slice(y[16:24]), archsimd.LoadFloat64x8Slice(y[24:32])
	for k := range lanes {
		l := &lanes[k]
		archsimd.LoadFloat64x8(l).Add(v0.Add(v1).Add(v2.Add(v3))).Store(l)
		v0, v1, v2, v3 = v0.Mul(y0), v1.Mul(y1), v2.Mul(y2), v3.Mul(y3)
	}
	archsimd.ClearAVXUpperBits()
}

// sumPowers is sumPowersPlain on the widest vectors that the processor has.
func sumPowers(sums *seriesBlock, moment []float64, factor, y *seriesBlock) {
	if !hasAVX512 {
		sumPowersPlain(sums, moment, factor, y)
		return
	}
	y0, y1 := archsimd.LoadFloat64x8Slice(y[0:8]), archsimd.LoadFloat64x8Slice(y[8:16])
	y2, y3 := archsimd.LoadFloat64x8Slice(y[16:24]), archsimd.LoadFloat64x8Slice(y[24:32])
	var s0, s1, s2, s3 archsimd.Float64x8
	for k := len(moment) - 1; k >= 0; k-- {
		m := archsimd.BroadcastFloat64x8(moment[k])
		s0, s1, s2, s3 = s0.MulAdd(y0, m), s1.MulAdd(y1, m), s2.MulAdd(y2, m), s3.MulAdd(y3, m)
	}
	for i, s := range [4]archsimd.Float64x8{s0, s1, s2, s3} {
		x := sums[8*i : 8*i+8]
		s.MulAdd(archsimd.LoadFloat64x8Slice(factor[8*i:8*i+8]), archsimd.LoadFloat64x8Slice(x)).StoreSlice(x)
	}
	archsimd.ClearAVXUpperBits()
}
