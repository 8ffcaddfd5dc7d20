//go:build goexperiment.simd && amd64

package kernels

import "simd/archsimd"

// Widths that are no multiple of a vector's take the plain functions. Vectors of eight numbers
// suffice on every processor: a pair has 24 or so.

func bumps(dst []float32, u float32) {
	if hasAVX2 && len(dst)%8 == 0 {
		bumpsAVX2(dst, u)
		return
	}
	bumpsPlain(dst, u)
}

func messages(dst, w, p, x, y []float32) {
	if hasAVX2 && len(dst)%24 == 0 {
		messagesAVX2(dst, w, p, x, y)
		return
	}
	messagesPlain(dst, w, p, x, y)
}

func bumpsAVX2(dst []float32, u float32) {
	of := archsimd.BroadcastFloat32x8
	v := of(u).Sub(archsimd.LoadFloat32x8(&[8]float32{0, 1, 2, 3, 4, 5, 6, 7}))
	half, eight := of(-0.5), of(8)
	for ; len(dst) >= 8; dst = dst[8:] {
		exp8(v.Mul(v).Mul(half)).Store((*[8]float32)(dst))
		v = v.Sub(eight)
	}
	archsimd.ClearAVXUpperBits()
}

func messagesAVX2(dst, w, p, x, y []float32) {
	of := archsimd.BroadcastFloat32x8
	width := len(dst) / 3
	for k := 0; k < width; k += 8 {
		var sum, alongX, alongY archsimd.Float32x8
		for j := range x {
			at := j*width + k
			m := archsimd.LoadFloat32x8((*[8]float32)(w[at:])).Mul(archsimd.LoadFloat32x8((*[8]float32)(p[at:])))
			sum = sum.Add(m)
			alongX = m.MulAdd(of(x[j]), alongX)
			alongY = m.MulAdd(of(y[j]), alongY)
		}
		sum.Store((*[8]float32)(dst[k:]))
		alongX.Store((*[8]float32)(dst[width+k:]))
		alongY.Store((*[8]float32)(dst[2*width+k:]))
	}
	archsimd.ClearAVXUpperBits()
}
