//go:build goexperiment.simd && amd64

package kernels

import "simd/archsimd"

func gelu(x []float32) {
	const lanes = 16
	whole := len(x) / lanes * lanes
	switch {
	case hasAVX512:
		geluAVX512(x[:whole])
	case hasAVX2:
		geluAVX2(x[:whole])
	default:
		whole = 0
	}
	geluPlain(x[whole:])
}

func geluAVX512(x []float32) {
	bound, half := archsimd.BroadcastFloat32x16(erfBound), archsimd.BroadcastFloat32x16(0.5)
	low, scale := archsimd.BroadcastFloat32x16(-erfBound), archsimd.BroadcastFloat32x16(sqrtHalf)
	of := archsimd.BroadcastFloat32x16
	for ; len(x) >= 16; x = x[16:] {
		at := (*[16]float32)(x)
		v := archsimd.LoadFloat32x16(at)
		z := v.Mul(scale).Max(low).Min(bound)
		w := z.Mul(z)
		p := of(erfP4).MulAdd(w, of(erfP3)).MulAdd(w, of(erfP2)).MulAdd(w, of(erfP1)).MulAdd(w, of(erfP0))
		q := of(erfQ6).MulAdd(w, of(erfQ5)).MulAdd(w, of(erfQ4)).MulAdd(w, of(erfQ3)).MulAdd(w, of(erfQ2)).MulAdd(w, of(erfQ1)).MulAdd(w, of(erfQ0))
		h := v.Mul(half)
		h.MulAdd(z.Mul(p).Div(q), h).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func geluAVX2(x []float32) {
	bound, half := archsimd.BroadcastFloat32x8(erfBound), archsimd.BroadcastFloat32x8(0.5)
	low, scale := archsimd.BroadcastFloat32x8(-erfBound), archsimd.BroadcastFloat32x8(sqrtHalf)
	of := archsimd.BroadcastFloat32x8
	for ; len(x) >= 8; x = x[8:] {
		at := (*[8]float32)(x)
		v := archsimd.LoadFloat32x8(at)
		z := v.Mul(scale).Max(low).Min(bound)
		w := z.Mul(z)
		p := of(erfP4).MulAdd(w, of(erfP3)).MulAdd(w, of(erfP2)).MulAdd(w, of(erfP1)).MulAdd(w, of(erfP0))
		q := of(erfQ6).MulAdd(w, of(erfQ5)).MulAdd(w, of(erfQ4)).MulAdd(w, of(erfQ3)).MulAdd(w, of(erfQ2)).MulAdd(w, of(erfQ1)).MulAdd(w, of(erfQ0))
		h := v.Mul(half)
		h.MulAdd(z.Mul(p).Div(q), h).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}
