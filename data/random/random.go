// Package random is the only source of randomness of the project. Every stream depends on
// (seed, purpose, index...) alone. So any machine can make any function, batch or initial
// parameter again, in any order.
package random

import "math/rand/v2"

const (
	golden    = 0x9e3779b97f4a7c15 // 2⁶⁴/φ, the increment of SplitMix64
	fnvOffset = 0xcbf29ce484222325
	fnvPrime  = 0x00000100000001b3
)

// New returns an independent PCG stream for a purpose and indices, for example
// "vn1d/coefficients" and the number of a function. It takes two small allocations and tens
// of nanoseconds.
func New(seed uint64, purpose string, index ...uint64) *rand.Rand {
	return rand.New(rand.NewPCG(Key(seed, purpose, index...)))
}

// Key returns 128 bits that identify the stream (seed, purpose, index...), for generators
// other than that of New. The hash absorbs one word at a time through SplitMix64's
// finaliser. It must never change, since data sets and checkpoints depend on it; golden
// values in the tests pin it. It is not cryptographic.
func Key(seed uint64, purpose string, index ...uint64) (hi, lo uint64) {
	h := uint64(fnvOffset)
	for i := range len(purpose) {
		h = (h ^ uint64(purpose[i])) * fnvPrime
	}
	state := mix(mix(seed+golden) ^ h)
	for _, i := range index {
		state = mix((state + golden) ^ i)
	}
	return mix(state + golden), mix(state ^ golden)
}

// mix is SplitMix64's finaliser (Steele, Lea, Flood 2014, variant 13 of
// Stafford): a bijection of 64 bits in which every input bit moves every
// output bit with probability near one half.
func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
