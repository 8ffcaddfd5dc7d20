package allreduce

import "math"

// Int8 on the wire: blocks of 256 numbers, the last maybe shorter, with one
// power of two each. Of n numbers first come ⌈n/256⌉ exponents, one byte each,
// then n signed bytes q; a number is
//
//	q·2^(e−127),  e = 127 + ⌈log₂(max|x|/127)⌉ of its block, at least 1.
//
// e = 255 marks a block with a number that is not finite, or too large: all of
// it reads as NaN. Powers of two make decoding exact and encoding what was
// decoded exact again (the largest |q| of a block is 64 at least), so that
// passing on changes nothing.
//
// Error feedback: what rounding a number took away is kept and added to the
// number that is sent in its place at the next call, so that over many calls
// the sum of what is received differs from the sum of what was meant by one
// rounding error, not by as many as there were calls. (Seide et al. 2014;
// Karimireddy et al. 2019.)

const (
	blockLength   = 256
	exponentBias  = 127
	notFinite     = 255
	leastExponent = 1 // 2^−126: below, steps would be subnormal
)

func blocks(n int) int { return (n + blockLength - 1) / blockLength }

// quantise writes v to dst. With a residual, it sends v + residual, keeps there
// what rounding takes away, and replaces v by what receivers read; without, v
// has been read from the wire before and comes out unchanged.
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
		clear(residual) // a new start, should the caller go on
		return notFinite
	}
	e := exponent(largest)
	if residual == nil {
		var none [blockLength]float32 // zeros come out, and v as it was
		residual = none[:len(v)]
	}
	roundInt8(q, v, residual, powerOfTwo(e), powerOfTwo(2*exponentBias-e))
	return e
}

// powerOfTwo is 2^(e−127), as float32 has it.
func powerOfTwo(e byte) float32 { return math.Float32frombits(uint32(e) << 23) }

// exponent is the biased exponent of the step for a block of that maximum: the
// least at which it rounds to 127 at most.
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

// dequantise reads len(dst) numbers: added, or copied.
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
