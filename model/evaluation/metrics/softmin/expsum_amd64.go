//go:build goexperiment.simd && amd64

package softmin

import "simd/archsimd"

var (
	hasAVX512 = archsimd.X86.AVX512()
	hasAVX2   = archsimd.X86.AVX2() && archsimd.X86.FMA()
)

// Engine names the instruction set of the kernels: avx512, avx2 or go.
func Engine() string {
	switch {
	case hasAVX512:
		return "avx512"
	case hasAVX2:
		return "avx2"
	}
	return "go"
}

// expSum is expSumPlain on the widest vectors that the processor has. len(a)
// must be a multiple of lanes.
func expSum(a, v []float64, stride int, u []float64) float64 {
	switch {
	case hasAVX512:
		return expSumAVX512(a, v, stride, u)
	case hasAVX2:
		return expSumAVX2(a, v, stride, u)
	}
	return expSumPlain(a, v, stride, u)
}

// 2^f on [0, 1], degree 7, relative error 4e-11: exp2's polynomial for f = x − ⌊x⌋,
// which VREDUCEPD computes; VSCALEFPD multiplies by 2^⌊x⌋.
const (
	floor2c0 = 0.9999999999597886
	floor2c1 = 0.6931471860838923
	floor2c2 = 0.2402263846180801
	floor2c3 = 0.05550512685863366
	floor2c4 = 0.009614017015492433
	floor2c5 = 0.001342263475787208
	floor2c6 = 0.00014352314610589306
	floor2c7 = 2.1498761794647722e-05
)

// expSumAVX512 takes eight sources at once, with a sum per lane.
func expSumAVX512(a, v []float64, stride int, u []float64) float64 {
	c0, c1 := archsimd.BroadcastFloat64x8(floor2c0), archsimd.BroadcastFloat64x8(floor2c1)
	c2, c3 := archsimd.BroadcastFloat64x8(floor2c2), archsimd.BroadcastFloat64x8(floor2c3)
	c4, c5 := archsimd.BroadcastFloat64x8(floor2c4), archsimd.BroadcastFloat64x8(floor2c5)
	c6, c7 := archsimd.BroadcastFloat64x8(floor2c6), archsimd.BroadcastFloat64x8(floor2c7)
	u0 := archsimd.BroadcastFloat64x8(u[0])
	var sum archsimd.Float64x8
	rest := u[1:]
	v = v[:len(rest)*stride+len(a)]
	for j := 0; j+lanes <= len(a); j += lanes {
		e := u0.MulAdd(archsimd.LoadFloat64x8Slice(v[j:j+lanes]), archsimd.LoadFloat64x8Slice(a[j:j+lanes]))
		at := j
		for _, w := range rest {
			at += stride
			e = archsimd.BroadcastFloat64x8(w).MulAdd(archsimd.LoadFloat64x8Slice(v[at:at+lanes]), e)
		}
		f := e.FloorScaledResidue(0)
		p := c7.MulAdd(f, c6).MulAdd(f, c5).MulAdd(f, c4).MulAdd(f, c3).MulAdd(f, c2).MulAdd(f, c1).MulAdd(f, c0)
		sum = sum.Add(p.Scale(e))
	}
	var part [lanes]float64
	sum.Store(&part)
	archsimd.ClearAVXUpperBits()
	return ((part[0] + part[4]) + (part[2] + part[6])) + ((part[1] + part[5]) + (part[3] + part[7]))
}

// expSumAVX2 takes four sources at once, with the arithmetic of exp2.
func expSumAVX2(a, v []float64, stride int, u []float64) float64 {
	c0, c1 := archsimd.BroadcastFloat64x4(exp2c0), archsimd.BroadcastFloat64x4(exp2c1)
	c2, c3 := archsimd.BroadcastFloat64x4(exp2c2), archsimd.BroadcastFloat64x4(exp2c3)
	c4, c5 := archsimd.BroadcastFloat64x4(exp2c4), archsimd.BroadcastFloat64x4(exp2c5)
	c6, c7 := archsimd.BroadcastFloat64x4(exp2c6), archsimd.BroadcastFloat64x4(exp2c7)
	magic := archsimd.BroadcastFloat64x4(roundMagic)
	u0 := archsimd.BroadcastFloat64x4(u[0])
	var sum archsimd.Float64x4
	rest := u[1:]
	v = v[:len(rest)*stride+len(a)]
	for j := 0; j+4 <= len(a); j += 4 {
		e := u0.MulAdd(archsimd.LoadFloat64x4Slice(v[j:j+4]), archsimd.LoadFloat64x4Slice(a[j:j+4]))
		at := j
		for _, w := range rest {
			at += stride
			e = archsimd.BroadcastFloat64x4(w).MulAdd(archsimd.LoadFloat64x4Slice(v[at:at+4]), e)
		}
		shifted := e.Add(magic)
		f := e.Sub(shifted.Sub(magic))
		p := c7.MulAdd(f, c6).MulAdd(f, c5).MulAdd(f, c4).MulAdd(f, c3).MulAdd(f, c2).MulAdd(f, c1).MulAdd(f, c0)
		bits := p.AsInt64x4().Add(shifted.AsInt64x4().ShiftAllLeft(52))
		sum = sum.Add(bits.AsFloat64x4())
	}
	var part [4]float64
	sum.Store(&part)
	archsimd.ClearAVXUpperBits()
	return (part[0] + part[2]) + (part[1] + part[3])
}
