package batch

import (
	"math/bits"

	"github.com/ergoflow/ergoflow/data/random"
)

// permutation shuffles [0, n) without a table: at(i) is the number in place i, in constant
// time and memory. It is a Feistel network over the smallest power of two ≥ n, which is a
// bijection for any round functions (Luby and Rackoff 1988). It is repeated until the value
// is below n (cycle walking: Black and Rogaway 2002), fewer than two times on average for
// n > 32.
type permutation struct {
	n           uint64
	left, right uint // bits of the halves, equal or left one more
	hi, lo      uint64
}

func newPermutation(n int, seed uint64, purpose string, index ...uint64) permutation {
	width := max(minWidth, uint(bits.Len64(uint64(n-1))))
	p := permutation{n: uint64(n), left: (width + 1) / 2, right: width / 2}
	p.hi, p.lo = random.Key(seed, purpose, index...)
	return p
}

const (
	rounds = 8 // even; four are enough for cryptographers' large domains
	// Permutations of 8 numbers are visibly not uniform, those of 64 are. Smaller n take
	// a few more walks.
	minWidth = 6
)

func (p permutation) at(i int) int {
	x := uint64(i)
	for {
		x = p.walk(x)
		if x < p.n {
			return int(x)
		}
	}
}

// walk is one pass through the network.
func (p permutation) walk(x uint64) uint64 {
	leftMask, rightMask := uint64(1)<<p.left-1, uint64(1)<<p.right-1
	l, r := x>>p.right, x&rightMask
	for k := uint64(0); k < rounds; k += 2 {
		l ^= p.round(k, r) & leftMask
		r ^= p.round(k+1, l) & rightMask
	}
	return l<<p.right | r
}

// round is round k's function of one half: SplitMix64's finaliser, into which
// the second word of the key enters halfway.
func (p permutation) round(k, half uint64) uint64 {
	z := p.hi + (half*rounds+k)*0x9e3779b97f4a7c15
	z = (z^z>>30)*0xbf58476d1ce4e5b9 ^ p.lo
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}
