//go:build amd64 && goexperiment.simd

package allreduce

import (
	"simd/archsimd"
	"unsafe"
)

// Shifts are by vectors of counts. For a scalar count the compiler uses an SSE
// instruction in every iteration, which costs Intel's processors a hundred cycles while
// the upper halves of registers are in use.

var hasAVX2 = archsimd.X86.AVX2()

// addTo adds src to dst, which have equal lengths.
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

// encodeBFloat16 rounds src and writes it to dst, two bytes for each number.
func encodeBFloat16(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	if hasAVX2 && aligned(dst) {
		for len(src) >= 16 && len(dst) >= 32 {
			x := archsimd.LoadFloat32x8((*[8]float32)(src[:8]))
			y := archsimd.LoadFloat32x8((*[8]float32)(src[8:16]))
			a, b := upperHalf(x), upperHalf(y)
			// Packing takes four of each operand in turn.
			c, d := a.Select128FromPair(0, 2, b), a.Select128FromPair(1, 3, b)
			c.AsInt32x8().SaturateToUint16ConcatGrouped(d.AsInt32x8()).Store((*[16]uint16)(unsafe.Pointer((*[32]byte)(dst))))
			dst, src = dst[32:], src[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	encodeBFloat16Plain(dst, src)
}

// upperHalf rounds eight numbers to bfloat16, ties to even. NaN stays NaN.
func upperHalf(x archsimd.Float32x8) archsimd.Uint32x8 {
	half, one, quiet := archsimd.BroadcastUint32x8(0x7fff), archsimd.BroadcastUint32x8(1), archsimd.BroadcastUint32x8(0x40)
	count := archsimd.BroadcastUint32x8(16)
	u := x.AsUint32x8()
	upper := u.ShiftRight(count)
	rounded := u.Add(half).Add(upper.And(one)).ShiftRight(count)
	return upper.Or(quiet).Merge(rounded, x.IsNaN())
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

// largestBits is the largest magnitude as bits.
func largestBits(v []float32) uint32 {
	var bits uint32
	if hasAVX2 {
		mask, largest := archsimd.BroadcastUint32x8(0x7fffffff), archsimd.BroadcastUint32x8(0)
		for len(v) >= 8 {
			largest = largest.Max(archsimd.LoadFloat32x8((*[8]float32)(v)).AsUint32x8().And(mask))
			v = v[8:]
		}
		var lanes [8]uint32
		largest.Store(&lanes)
		archsimd.ClearAVXUpperBits()
		for _, b := range lanes {
			bits = max(bits, b)
		}
	}
	return max(bits, largestBitsPlain(v))
}

// These undo the interleaving of packing: first bytes within the halves of a vector,
// then groups of four bytes.
var (
	inHalves = [32]int8{
		0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
		0, 2, 4, 6, 8, 10, 12, 14, 1, 3, 5, 7, 9, 11, 13, 15,
	}
	inFours = [8]uint32{0, 4, 1, 5, 2, 6, 3, 7}
)

// roundInt8 writes v in steps of scale to q, and the rounding errors to residual. v
// becomes what receivers read.
func roundInt8(q []byte, v, residual []float32, scale, inverse float32) {
	if hasAVX2 {
		step, steps, magic := archsimd.BroadcastFloat32x8(scale), archsimd.BroadcastFloat32x8(inverse), archsimd.BroadcastFloat32x8(roundMagic)
		low, byteShift := archsimd.BroadcastUint32x8(0xff), archsimd.BroadcastUint32x8(8)
		halves, fours := archsimd.LoadInt8x32(&inHalves), archsimd.LoadUint32x8(&inFours)
		for len(v) >= 32 && len(q) >= 32 && len(residual) >= 32 {
			var lowest [4]archsimd.Int32x8
			for k := range lowest {
				at, kept := (*[8]float32)(v[8*k:]), (*[8]float32)(residual[8*k:])
				x := archsimd.LoadFloat32x8(at)
				sum := x.Mul(steps).Add(magic)
				read := sum.Sub(magic).Mul(step)
				x.Sub(read).Store(kept)
				read.Store(at)
				lowest[k] = sum.AsUint32x8().And(low).AsInt32x8()
			}
			even := lowest[0].SaturateToUint16ConcatGrouped(lowest[1]).AsUint32x8()
			odd := lowest[2].SaturateToUint16ConcatGrouped(lowest[3]).AsUint32x8()
			packed := even.Or(odd.ShiftLeft(byteShift)).AsUint8x32().PermuteOrZeroGrouped(halves)
			packed.AsUint32x8().Permute(fours).AsUint8x32().Store((*[32]uint8)(q))
			q, v, residual = q[32:], v[32:], residual[32:]
		}
		archsimd.ClearAVXUpperBits()
	}
	roundInt8Plain(q, v, residual, scale, inverse)
}

// decodeInt8 reads len(dst) numbers in steps of scale and adds them to dst, or copies
// them there.
func decodeInt8(dst []float32, q []byte, scale float32, add bool) {
	if hasAVX2 {
		step := archsimd.BroadcastFloat32x8(scale)
		for len(dst) >= 16 && len(q) >= 16 {
			first, second := (*[8]float32)(dst[:8]), (*[8]float32)(dst[8:])
			both := archsimd.LoadInt8x16((*[16]int8)(unsafe.Pointer((*[16]byte)(q))))
			upper := both.AsInt32x4().PermuteScalars(2, 3, 2, 3).AsInt8x16()
			x := both.ExtendLo8ToInt32().ConvertToFloat32().Mul(step)
			y := upper.ExtendLo8ToInt32().ConvertToFloat32().Mul(step)
			if add {
				x, y = archsimd.LoadFloat32x8(first).Add(x), archsimd.LoadFloat32x8(second).Add(y)
			}
			x.Store(first)
			y.Store(second)
			dst, q = dst[16:], q[16:]
		}
		archsimd.ClearAVXUpperBits()
	}
	decodeInt8Plain(dst, q, scale, add)
}
