//go:build amd64 && goexperiment.simd

package allreduce

import (
	"simd/archsimd"
	"unsafe"
)

var (
	hasAVX2   = archsimd.X86.AVX2()
	hasAVX512 = archsimd.X86.AVX512()
)

// addTo adds src to dst; the lengths are equal.
func addTo(dst, src []float32) {
	src = src[:len(dst)]
	if hasAVX2 {
		for len(dst) >= 16 && len(src) >= 16 {
			d, s := (*[16]float32)(dst), (*[16]float32)(src)
			lo := archsimd.LoadFloat32x8((*[8]float32)(d[:8])).Add(archsimd.LoadFloat32x8((*[8]float32)(s[:8])))
			hi := archsimd.LoadFloat32x8((*[8]float32)(d[8:])).Add(archsimd.LoadFloat32x8((*[8]float32)(s[8:])))
			lo.Store((*[8]float32)(d[:8]))
			hi.Store((*[8]float32)(d[8:]))
			dst, src = dst[16:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	addToPlain(dst, src)
}

// encodeBFloat16 writes src, rounded, to dst, which has two bytes for each.
func encodeBFloat16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	if hasAVX512 && aligned(dst) {
		half, one, quiet := archsimd.BroadcastUint32x16(0x7fff), archsimd.BroadcastUint32x16(1), archsimd.BroadcastUint32x16(0x40)
		for len(src) >= 16 && len(dst) >= 32 {
			x := archsimd.LoadFloat32x16((*[16]float32)(src))
			u := x.AsUint32x16()
			upper := u.ShiftAllRight(16)
			rounded := u.Add(half).Add(upper.And(one)).ShiftAllRight(16)
			upper.Or(quiet).Merge(rounded, x.IsNaN()).TruncateToUint16().Store((*[16]uint16)(unsafe.Pointer((*[32]byte)(dst))))
			dst, src = dst[32:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	encodeBFloat16Plain(dst, src)
}

// widen reads eight numbers.
func widen(src []byte) archsimd.Float32x8 {
	h := archsimd.LoadUint16x8((*[8]uint16)(unsafe.Pointer((*[16]byte)(src))))
	return h.ExtendToUint32().ShiftAllLeft(16).AsFloat32x8()
}

// decodeBFloat16 reads len(dst) numbers.
func decodeBFloat16(dst []float32, src []byte) {
	if hasAVX2 && aligned(src) {
		for len(dst) >= 8 && len(src) >= 16 {
			widen(src).Store((*[8]float32)(dst))
			dst, src = dst[8:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	decodeBFloat16Plain(dst, src)
}

// addBFloat16 adds len(dst) numbers to dst.
func addBFloat16(dst []float32, src []byte) {
	if hasAVX2 && aligned(src) {
		for len(dst) >= 8 && len(src) >= 16 {
			d := (*[8]float32)(dst)
			archsimd.LoadFloat32x8(d).Add(widen(src)).Store(d)
			dst, src = dst[8:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	addBFloat16Plain(dst, src)
}

// aligned reports whether b may be read as 16-bit numbers.
func aligned(b []byte) bool {
	return uintptr(unsafe.Pointer(unsafe.SliceData(b)))%2 == 0
}
