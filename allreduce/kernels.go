package allreduce

import (
	"encoding/binary"
	"math"
)

// The loops over numbers in plain Go. The vector kernels must equal them bit for bit,
// and use them for their tails.

func addToPlain(dst, src []float32) {
	src = src[:len(dst)]
	for len(dst) >= 8 && len(src) >= 8 {
		d, s := (*[8]float32)(dst), (*[8]float32)(src)
		d[0] += s[0]
		d[1] += s[1]
		d[2] += s[2]
		d[3] += s[3]
		d[4] += s[4]
		d[5] += s[5]
		d[6] += s[6]
		d[7] += s[7]
		dst, src = dst[8:], src[8:]
	}
	for i, x := range src {
		dst[i] += x
	}
}

func encodeBFloat16Plain(dst []byte, src []float32) {
	dst = dst[:2*len(src)]
	for i, x := range src {
		binary.LittleEndian.PutUint16(dst[2*i:], toBFloat16(x))
	}
}

func decodeBFloat16Plain(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] = fromBFloat16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

func addBFloat16Plain(dst []float32, src []byte) {
	src = src[:2*len(dst)]
	for i := range dst {
		dst[i] += fromBFloat16(binary.LittleEndian.Uint16(src[2*i:]))
	}
}

// largestBitsPlain is the largest magnitude as bits. Infinities and NaN have larger bits
// than any number.
func largestBitsPlain(v []float32) uint32 {
	var bits uint32
	for _, x := range v {
		bits = max(bits, math.Float32bits(x)&0x7fffffff)
	}
	return bits
}

// Adding roundMagic rounds to an integer, ties to even, and leaves it in the lowest
// bits.
const roundMagic = 1.5 * (1 << 23)

func roundInt8Plain(q []byte, v, residual []float32, scale, inverse float32) {
	q, residual = q[:len(v)], residual[:len(v)]
	for i, x := range v {
		sum := float32(x*inverse) + roundMagic
		q[i] = byte(math.Float32bits(sum))
		read := float32((sum - roundMagic) * scale)
		residual[i] = x - read
		v[i] = read
	}
}

func decodeInt8Plain(dst []float32, q []byte, scale float32, add bool) {
	q = q[:len(dst)]
	if !add {
		for i, k := range q {
			dst[i] = float32(int8(k)) * scale
		}
		return
	}
	for i, k := range q {
		dst[i] += float32(float32(int8(k)) * scale)
	}
}
