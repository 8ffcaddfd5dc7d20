//go:build goexperiment.simd && amd64

package kernels

import "simd/archsimd"

func gelu(x []float32) { fastest(x, geluAVX512, geluAVX2, geluPlain) }
func mish(x []float32) { fastest(x, mishAVX512, mishAVX2, mishPlain) }

// fastest applies the kernel of the best instructions that the processor has to all whole vectors
// of x, and the plain one to the rest.
func fastest(x []float32, avx512, avx2, plain func([]float32)) {
	const lanes = 16
	whole := len(x) / lanes * lanes
	switch {
	case hasAVX512:
		avx512(x[:whole])
	case hasAVX2:
		avx2(x[:whole])
	default:
		whole = 0
	}
	plain(x[whole:])
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

func mishAVX512(x []float32) {
	bound, two := archsimd.BroadcastFloat32x16(mishBound), archsimd.BroadcastFloat32x16(2)
	for ; len(x) >= 16; x = x[16:] {
		at := (*[16]float32)(x)
		v := archsimd.LoadFloat32x16(at)
		e := exp16(v.Min(bound))
		n := e.Mul(e.Add(two))
		v.Mul(n.Div(n.Add(two))).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func mishAVX2(x []float32) {
	bound, two := archsimd.BroadcastFloat32x8(mishBound), archsimd.BroadcastFloat32x8(2)
	for ; len(x) >= 8; x = x[8:] {
		at := (*[8]float32)(x)
		v := archsimd.LoadFloat32x8(at)
		e := exp8(v.Min(bound))
		n := e.Mul(e.Add(two))
		v.Mul(n.Div(n.Add(two))).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

// exp16 is exp of 16 numbers.
func exp16(x archsimd.Float32x16) archsimd.Float32x16 {
	of := archsimd.BroadcastFloat32x16
	x = x.Max(of(expLow))
	n := x.Mul(of(perLn2)).RoundToEvenScaled(0)
	r := n.MulAdd(of(-ln2Low), n.MulAdd(of(-ln2High), x))
	p := of(expP5).MulAdd(r, of(expP4)).MulAdd(r, of(expP3)).MulAdd(r, of(expP2)).MulAdd(r, of(expP1)).MulAdd(r, of(expP0))
	return p.MulAdd(r.Mul(r), r.Add(of(1))).Scale(n)
}

// exp8 is exp of 8 numbers.
func exp8(x archsimd.Float32x8) archsimd.Float32x8 {
	of := archsimd.BroadcastFloat32x8
	x = x.Max(of(expLow))
	n := x.Mul(of(perLn2)).RoundToEven()
	r := n.MulAdd(of(-ln2Low), n.MulAdd(of(-ln2High), x))
	p := of(expP5).MulAdd(r, of(expP4)).MulAdd(r, of(expP3)).MulAdd(r, of(expP2)).MulAdd(r, of(expP1)).MulAdd(r, of(expP0))
	power := n.ConvertToInt32().Add(archsimd.BroadcastInt32x8(float32Bias)).ShiftAllLeft(float32Fraction).AsFloat32x8()
	return p.MulAdd(r.Mul(r), r.Add(of(1))).Mul(power)
}
