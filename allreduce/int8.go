package allreduce

import "math"

// Int8 on the wire: blocks of 256 numbers, the last maybe shorter, with one
// power of two each. Of n numbers first come ⌈n/256⌉ exponents, one byte each,
// then n signed bytes q; a number is
//
//	q·2^(e−127),  e = 127 + ⌈log₂(max|x|/127)⌉ of its block, at least 1.
//
// e = 255 marks a block with a number that is too large or not finite: the whole block
// reads as NaN. With powers of two decoding is exact, and so is encoding of decoded
// numbers (the largest |q| of a block is at least 64): passing on changes nothing.
//
// Error feedback: the sender keeps the rounding error of each number and adds it to the
// number that it sends in the same place at the next call. Over many calls the sum of
// the received numbers then differs from the exact sum by one rounding error, not by one
// per call. (Seide et al. 2014; Karimireddy et al. 2019.)

const (
	blockLength   = 256
	exponentBias  = 127
	notFinite     = 255
	leastExponent = 1 // 2^−126: below, steps would be subnormal
)

func blocks(n int) int { return (n + blockLength - 1) / blockLength }

// quantise writes v to dst. With a residual it sends v + residual, stores the rounding
// error in residual, and replaces v by what receivers read. Without one, v was read
// from the wire before and stays unchanged.
func quantise(dst []byte, v, residual []float32) {
	exponents, q := dst[:blocks(len(v))], dst[blocks(len(v)):]
	for b := range exponents {
		n := min(blockLength, len(v))
		var kept []float32
		if residual != nil {
			kept, residual = residual[:n], residual[n:]
			addTo(v[:n], kept)
		}
		exponents[b] = quantiseBlock(q[:n], v[:n], kept)
		v, q = v[n:], q[n:]
	}
}

func quantiseBlock(q []byte, v, residual []float32) byte {
	largest := math.Float32frombits(largestBits(v))
	if !(largest <= math.MaxFloat32) {
		for i := range v {
			q[i] = 0
			v[i] = float32(math.NaN())
		}
		clear(residual) // the caller may continue with other numbers
		return notFinite
	}
	e := exponent(largest)
	if residual == nil {
		var none [blockLength]float32 // v is exact: the errors are zero
		residual = none[:len(v)]
	}
	roundInt8(q, v, residual, powerOfTwo(e), powerOfTwo(2*exponentBias-e))
	return e
}

// powerOfTwo is 2^(e−127).
func powerOfTwo(e byte) float32 { return math.Float32frombits(uint32(e) << 23) }

// exponent is the biased exponent of the step for a block with that largest magnitude:
// the least at which it rounds to at most 127.
func exponent(largest float32) byte {
	if largest == 0 {
		return leastExponent
	}
	fraction, power := math.Frexp(float64(largest) / 127) // fraction in [½, 1)
	if fraction == 0.5 {
		power-- // a power of two itself
	}
	return byte(min(max(power+exponentBias, leastExponent), notFinite))
}

// dequantise reads len(dst) numbers and adds them to dst, or copies them there.
func dequantise(dst []float32, f *frame, add bool) {
	b := make([]byte, 0, format(Int8).bytes(len(dst)))
	f.payload(func(p []byte) { b = append(b, p...) })
	exponents, q := b[:blocks(len(dst))], b[blocks(len(dst)):]
	for _, e := range exponents {
		n := min(blockLength, len(dst))
		scale := float32(math.NaN())
		if e != notFinite {
			scale = powerOfTwo(e)
		}
		decodeInt8(dst[:n], q, scale, add)
		dst, q = dst[n:], q[n:]
	}
}
