package simulate

import (
	"math"
	"math/bits"
	"testing"
)

// bitSet is a polynomial over the field of two elements.
type bitSet []uint64

// addShifted adds s times the power by of the variable to b.
func (b bitSet) addShifted(s bitSet, by int) {
	words, shift := by/64, by%64
	for i := len(b) - 1; i >= words; i-- {
		v := s[i-words] << shift
		if shift > 0 && i > words {
			v |= s[i-words-1] >> (64 - shift)
		}
		b[i] ^= v
	}
}

// linearComplexity is the length of the shortest linear feedback register that
// makes the bits (Berlekamp and Massey).
func linearComplexity(sequence []bool) int {
	size := len(sequence)/64 + 1
	connection, before, saved := make(bitSet, size), make(bitSet, size), make(bitSet, size)
	past := make(bitSet, size) // the sequence backwards, its newest bit first
	connection[0], before[0] = 1, 1
	length, since := 0, 1
	for n, bit := range sequence {
		for i := len(past) - 1; i > 0; i-- {
			past[i] = past[i]<<1 | past[i-1]>>63
		}
		past[0] <<= 1
		if bit {
			past[0] |= 1
		}
		var odd uint64
		for i := range length/64 + 1 {
			odd ^= connection[i] & past[i]
		}
		if bits.OnesCount64(odd)%2 == 0 {
			since++
			continue
		}
		if 2*length > n {
			connection.addShifted(before, since)
			since++
			continue
		}
		copy(saved, connection)
		connection.addShifted(before, since)
		before, saved = saved, before
		length, since = n+1-length, 1
	}
	return length
}

// The two lowest bits of xoshiro128+ have the linear complexities 128 and 128 +
// 128·127/2 of sums without carry and with one; TestU01 finds the first of them
// (docs/results/noise.md). All others are as complex as chance: half of the
// bits, and 12 off once in 2²⁴ times. So are the digits of Φ(ξ).
func TestLinearComplexity(t *testing.T) {
	words := make([]uint32, 17_000)
	check := func(name string, bit, count, want, tolerance int) {
		sequence := make([]bool, count)
		for i, w := range words[:count] {
			sequence[i] = w>>bit&1 == 1
		}
		if got := linearComplexity(sequence); got < want-tolerance || got > want+tolerance {
			t.Errorf("bit %d of the %s has complexity %d, want %d ± %d", bit, name, got, want, tolerance)
		}
	}
	chainOutputs(5)(words)
	check("outputs", 0, 1000, 128, 0)
	check("outputs", 1, len(words), 128+128*127/2, 0)
	check("outputs", 2, len(words), len(words)/2, 12)
	for bit := 2; bit < 32; bit++ {
		check("outputs", bit, 2000, 1000, 12)
	}
	streams["chain"](5)(words)
	for bit := range 32 {
		check("ranks", bit, 2000, 1000, 12)
	}
}

// The two lowest bits move no normal within ±4 by more than the inverse's error.
func TestLowestBitsHardlyMatter(t *testing.T) {
	words := make([]uint32, 1<<20)
	chainOutputs(6)(words)
	normal := func(r uint32) float64 { return float64(Normal(r)) }
	for _, r := range words {
		if x := normal(r); math.Abs(x) < 4 && !(math.Abs(x-normal(r^3)) <= 2.6e-5) {
			t.Fatalf("output %#x gives %v, %#x %v", r, x, r^3, normal(r^3))
		}
	}
}
