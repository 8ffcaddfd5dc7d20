//go:build amd64 && goexperiment.simd

package allreduce

import (
	"simd/archsimd"
	"unsafe"
)

// Shifts are by vectors of counts. A count that is one number is moved into its
// register by an instruction of SSE, in every turn of the loop, which costs Intel's
// processors a hundred cycles where the upper halves of registers are in use.

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
		count := archsimd.BroadcastUint32x16(16)
		for len(src) >= 16 && len(dst) >= 32 {
			x := archsimd.LoadFloat32x16((*[16]float32)(src))
			u := x.AsUint32x16()
			upper := u.ShiftRight(count)
			rounded := u.Add(half).Add(upper.And(one)).ShiftRight(count)
			upper.Or(quiet).Merge(rounded, x.IsNaN()).TruncateToUint16().Store((*[16]uint16)(unsafe.Pointer((*[32]byte)(dst))))
			dst, src = dst[32:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	encodeBFloat16Plain(dst, src)
}

// widen reads eight numbers.
func widen(src []byte, count archsimd.Uint32x8) archsimd.Float32x8 {
	h := archsimd.LoadUint16x8((*[8]uint16)(unsafe.Pointer((*[16]byte)(src))))
	return h.ExtendToUint32().ShiftLeft(count).AsFloat32x8()
}

// decodeBFloat16 reads len(dst) numbers.
func decodeBFloat16(dst []float32, src []byte) {
	if hasAVX2 && aligned(src) {
		count := archsimd.BroadcastUint32x8(16)
		for len(dst) >= 8 && len(src) >= 16 {
			widen(src, count).Store((*[8]float32)(dst))
			dst, src = dst[8:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	decodeBFloat16Plain(dst, src)
}

// addBFloat16 adds len(dst) numbers to dst.
func addBFloat16(dst []float32, src []byte) {
	if hasAVX2 && aligned(src) {
		count := archsimd.BroadcastUint32x8(16)
		for len(dst) >= 8 && len(src) >= 16 {
			d := (*[8]float32)(dst)
			archsimd.LoadFloat32x8(d).Add(widen(src, count)).Store(d)
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

// largestBits is the largest magnitude, as bits.
func largestBits(v []float32) uint32 {
	var bits uint32
	if hasAVX512 {
		mask, largest := archsimd.BroadcastUint32x16(0x7fffffff), archsimd.BroadcastUint32x16(0)
		for len(v) >= 16 {
			largest = largest.Max(archsimd.LoadFloat32x16((*[16]float32)(v)).AsUint32x16().And(mask))
			v = v[16:]
		}
		var lanes [16]uint32
		largest.Store(&lanes)
		archsimd.ClearAVXUpperBits()
		for _, b := range lanes {
			bits = max(bits, b)
		}
	}
	return max(bits, largestBitsPlain(v))
}

// roundInt8 writes v, in steps of scale, to q, and what is lost to residual; v
// becomes what receivers read.
func roundInt8(q []byte, v, residual []float32, scale, inverse float32) {
	if hasAVX512 {
		step, steps, magic := archsimd.BroadcastFloat32x16(scale), archsimd.BroadcastFloat32x16(inverse), archsimd.BroadcastFloat32x16(roundMagic)
		for len(v) >= 16 && len(q) >= 16 && len(residual) >= 16 {
			x := archsimd.LoadFloat32x16((*[16]float32)(v))
			sum := x.Mul(steps).Add(magic)
			sum.AsUint32x16().TruncateToUint8().Store((*[16]uint8)(q))
			read := sum.Sub(magic).Mul(step)
			x.Sub(read).Store((*[16]float32)(residual))
			read.Store((*[16]float32)(v))
			q, v, residual = q[16:], v[16:], residual[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	roundInt8Plain(q, v, residual, scale, inverse)
}

// decodeInt8 reads len(dst) numbers in steps of scale: added, or copied.
func decodeInt8(dst []float32, q []byte, scale float32, add bool) {
	if hasAVX512 {
		step := archsimd.BroadcastFloat32x16(scale)
		for len(dst) >= 16 && len(q) >= 16 {
			d := (*[16]float32)(dst)
			x := archsimd.LoadInt8x16((*[16]int8)(unsafe.Pointer((*[16]byte)(q)))).ExtendToInt32().ConvertToFloat32().Mul(step)
			if add {
				x = archsimd.LoadFloat32x16(d).Add(x)
			}
			x.Store(d)
			dst, q = dst[16:], q[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	decodeInt8Plain(dst, q, scale, add)
}
