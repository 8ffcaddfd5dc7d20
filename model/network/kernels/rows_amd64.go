//go:build goexperiment.simd && amd64

package kernels

import (
	"simd/archsimd"
	"slices"
)

// Rows whose length is no multiple of a vector's take the plain functions.

func normalise(dst, x, gain, shift []float32) {
	switch {
	case hasAVX512 && len(x)%16 == 0:
		normaliseAVX512(dst, x, gain, shift)
	case hasAVX2 && len(x)%8 == 0:
		normaliseAVX2(dst, x, gain, shift)
	default:
		normalisePlain(dst, x, gain, shift)
	}
}

func softmax(x []float32) {
	switch {
	case hasAVX512 && len(x)%16 == 0:
		softmaxAVX512(x)
	case hasAVX2 && len(x)%8 == 0:
		softmaxAVX2(x)
	default:
		softmaxPlain(x)
	}
}

func scale(x, gain []float32) {
	switch {
	case hasAVX512 && len(x)%16 == 0:
		scaleAVX512(x, gain)
	case hasAVX2 && len(x)%8 == 0:
		scaleAVX2(x, gain)
	default:
		scalePlain(x, gain)
	}
}

func addScaled(x, y, gain []float32) {
	switch {
	case hasAVX512 && len(x)%16 == 0:
		addScaledAVX512(x, y, gain)
	case hasAVX2 && len(x)%8 == 0:
		addScaledAVX2(x, y, gain)
	default:
		addScaledPlain(x, y, gain)
	}
}

func dot(a, b []float32) float32 {
	switch {
	case hasAVX512 && len(a)%16 == 0:
		return dotAVX512(a, b)
	case hasAVX2 && len(a)%8 == 0:
		return dotAVX2(a, b)
	}
	return dotPlain(a, b)
}

// sum16 is the sum of a vector's numbers.
func sum16(v archsimd.Float32x16) float32 { return sum8(v.GetLo().Add(v.GetHi())) }

// sum8 is the sum of a vector's numbers. It clears the upper halves of registers: what follows computes
// with the sum by instructions of SSE, which on some processors take hundreds of cycles while they are in
// use (docs/decisions/formula-kernels.md). So no vector may be used after it that was made before.
func sum8(v archsimd.Float32x8) float32 {
	four := v.GetLo().Add(v.GetHi())
	pairs := four.AddPairs(four)
	var sum [4]float32
	pairs.AddPairs(pairs).Store(&sum)
	archsimd.ClearAVXUpperBits()
	return sum[0]
}

func normaliseAVX512(dst, x, gain, shift []float32) {
	of := archsimd.BroadcastFloat32x16
	var sum archsimd.Float32x16
	for i := 0; i < len(x); i += 16 {
		sum = sum.Add(archsimd.LoadFloat32x16((*[16]float32)(x[i:])))
	}
	average := sum16(sum) / float32(len(x))
	mean := of(average)
	var squares archsimd.Float32x16
	for i := 0; i < len(x); i += 16 {
		v := archsimd.LoadFloat32x16((*[16]float32)(x[i:])).Sub(mean)
		squares = v.MulAdd(v, squares)
	}
	inverse := perDeviation(sum16(squares), len(x))
	mean, scale := of(average), of(inverse)
	for i := 0; i < len(x); i += 16 {
		v := archsimd.LoadFloat32x16((*[16]float32)(x[i:])).Sub(mean).Mul(scale)
		g := archsimd.LoadFloat32x16((*[16]float32)(gain[i:]))
		v.MulAdd(g, archsimd.LoadFloat32x16((*[16]float32)(shift[i:]))).Store((*[16]float32)(dst[i:]))
	}
	archsimd.ClearAVXUpperBits()
}

func softmaxAVX512(x []float32) {
	of := archsimd.BroadcastFloat32x16
	most := archsimd.LoadFloat32x16((*[16]float32)(x))
	for i := 16; i < len(x); i += 16 {
		most = most.Max(archsimd.LoadFloat32x16((*[16]float32)(x[i:])))
	}
	var lanes [16]float32
	most.Store(&lanes)
	archsimd.ClearAVXUpperBits()
	largest := of(slices.Max(lanes[:]))
	var sum archsimd.Float32x16
	for i := 0; i < len(x); i += 16 {
		at := (*[16]float32)(x[i:])
		e := exp16(archsimd.LoadFloat32x16(at).Sub(largest))
		e.Store(at)
		sum = sum.Add(e)
	}
	scale := of(1 / sum16(sum))
	for i := 0; i < len(x); i += 16 {
		at := (*[16]float32)(x[i:])
		archsimd.LoadFloat32x16(at).Mul(scale).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func scaleAVX512(x, gain []float32) {
	for ; len(x) >= 16 && len(gain) >= 16; x, gain = x[16:], gain[16:] {
		at := (*[16]float32)(x)
		archsimd.LoadFloat32x16(at).Mul(archsimd.LoadFloat32x16((*[16]float32)(gain))).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func addScaledAVX512(x, y, gain []float32) {
	for ; len(x) >= 16 && len(y) >= 16 && len(gain) >= 16; x, y, gain = x[16:], y[16:], gain[16:] {
		at := (*[16]float32)(x)
		g := archsimd.LoadFloat32x16((*[16]float32)(gain))
		archsimd.LoadFloat32x16((*[16]float32)(y)).MulAdd(g, archsimd.LoadFloat32x16(at)).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func dotAVX512(a, b []float32) float32 {
	var sum archsimd.Float32x16
	for ; len(a) >= 16 && len(b) >= 16; a, b = a[16:], b[16:] {
		sum = archsimd.LoadFloat32x16((*[16]float32)(a)).MulAdd(archsimd.LoadFloat32x16((*[16]float32)(b)), sum)
	}
	return sum16(sum)
}

func normaliseAVX2(dst, x, gain, shift []float32) {
	of := archsimd.BroadcastFloat32x8
	var sum archsimd.Float32x8
	for i := 0; i < len(x); i += 8 {
		sum = sum.Add(archsimd.LoadFloat32x8((*[8]float32)(x[i:])))
	}
	average := sum8(sum) / float32(len(x))
	mean := of(average)
	var squares archsimd.Float32x8
	for i := 0; i < len(x); i += 8 {
		v := archsimd.LoadFloat32x8((*[8]float32)(x[i:])).Sub(mean)
		squares = v.MulAdd(v, squares)
	}
	inverse := perDeviation(sum8(squares), len(x))
	mean, scale := of(average), of(inverse)
	for i := 0; i < len(x); i += 8 {
		v := archsimd.LoadFloat32x8((*[8]float32)(x[i:])).Sub(mean).Mul(scale)
		g := archsimd.LoadFloat32x8((*[8]float32)(gain[i:]))
		v.MulAdd(g, archsimd.LoadFloat32x8((*[8]float32)(shift[i:]))).Store((*[8]float32)(dst[i:]))
	}
	archsimd.ClearAVXUpperBits()
}

func softmaxAVX2(x []float32) {
	of := archsimd.BroadcastFloat32x8
	most := archsimd.LoadFloat32x8((*[8]float32)(x))
	for i := 8; i < len(x); i += 8 {
		most = most.Max(archsimd.LoadFloat32x8((*[8]float32)(x[i:])))
	}
	var lanes [8]float32
	most.Store(&lanes)
	archsimd.ClearAVXUpperBits()
	largest := of(slices.Max(lanes[:]))
	var sum archsimd.Float32x8
	for i := 0; i < len(x); i += 8 {
		at := (*[8]float32)(x[i:])
		e := exp8(archsimd.LoadFloat32x8(at).Sub(largest))
		e.Store(at)
		sum = sum.Add(e)
	}
	scale := of(1 / sum8(sum))
	for i := 0; i < len(x); i += 8 {
		at := (*[8]float32)(x[i:])
		archsimd.LoadFloat32x8(at).Mul(scale).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func scaleAVX2(x, gain []float32) {
	for ; len(x) >= 8 && len(gain) >= 8; x, gain = x[8:], gain[8:] {
		at := (*[8]float32)(x)
		archsimd.LoadFloat32x8(at).Mul(archsimd.LoadFloat32x8((*[8]float32)(gain))).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func addScaledAVX2(x, y, gain []float32) {
	for ; len(x) >= 8 && len(y) >= 8 && len(gain) >= 8; x, y, gain = x[8:], y[8:], gain[8:] {
		at := (*[8]float32)(x)
		g := archsimd.LoadFloat32x8((*[8]float32)(gain))
		archsimd.LoadFloat32x8((*[8]float32)(y)).MulAdd(g, archsimd.LoadFloat32x8(at)).Store(at)
	}
	archsimd.ClearAVXUpperBits()
}

func dotAVX2(a, b []float32) float32 {
	var sum archsimd.Float32x8
	for ; len(a) >= 8 && len(b) >= 8; a, b = a[8:], b[8:] {
		sum = archsimd.LoadFloat32x8((*[8]float32)(a)).MulAdd(archsimd.LoadFloat32x8((*[8]float32)(b)), sum)
	}
	return sum8(sum)
}
