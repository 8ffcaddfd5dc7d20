package simulate

import (
	"math"
	"math/bits"
)

const (
	lanes  = 64 // chains that advance together
	widest = 16 // lanes of the widest vector
	window = 16 // steps for which normals are made at once
)

// normals makes standard normal numbers for up to 64 chains, each chain from a xoshiro128+
// generator of its own (Blackman and Vigna 2018, period 2¹²⁸−1). One 32-bit output gives one
// normal by inversion. The top bit is the sign. The other 31 bits, v, give a tail probability
// q = (v+½)/2³² and |ξ| = Φ⁻¹(1−q). For v ≥ 2¹⁵ that is a cubic in float32(v) on each half
// of an octave, whose number is in the bits of float32(v); its error is below 2.6e-5. The
// tail, one draw in 65,536, is computed in double precision and ends at |ξ| = 6.3. Products
// are rounded before sums everywhere, so that fused multiply-adds of some architectures
// cannot change a sample.
type normals struct {
	s0, s1, s2, s3 [lanes]uint32
	values         [window * lanes]float32 // of step k at [k·lanes, k·lanes+lanes)
}

// seed starts the generator of one lane.
func (n *normals) seed(lane int, seed uint64, purpose string, function, chain uint64) {
	s := Generator(seed, purpose, function, chain)
	n.s0[lane], n.s1[lane], n.s2[lane], n.s3[lane] = s[0], s[1], s[2], s[3]
}

// repeat makes a lane a copy of the first.
func (n *normals) repeat(lane int) {
	n.s0[lane], n.s1[lane], n.s2[lane], n.s3[lane] = n.s0[0], n.s1[0], n.s2[0], n.s3[0]
}

// fill makes the normals of the next window for the first active lanes.
func (n *normals) fill(active int) { n.fillLanes(0, min(active, lanes)) }

// fillLanes is fill for lanes first..end−1.
func (n *normals) fillLanes(first, end int) {
	for l := first; l < end; l++ {
		s0, s1, s2, s3 := n.s0[l], n.s1[l], n.s2[l], n.s3[l]
		for k := l; k < len(n.values); k += lanes {
			r := s0 + s3
			s0, s1, s2, s3 = advanced(s0, s1, s2, s3)
			v := r & (1<<31 - 1)
			if v >= cubicFirst {
				c, f := segment(v)
				n.values[k] = cubic(c, f, r)
			} else {
				n.values[k] = normalExact(v, r)
			}
		}
		n.s0[l], n.s1[l], n.s2[l], n.s3[l] = s0, s1, s2, s3
	}
}

// fillTails completes the lanes, from first on, that have a bit in tails. It sets their
// normals in the tails, and advances their generators. Kernels do neither.
func (n *normals) fillTails(first int, tails uint32) {
	for ; tails != 0; tails &= tails - 1 {
		l := first + bits.TrailingZeros32(tails)
		s0, s1, s2, s3 := n.s0[l], n.s1[l], n.s2[l], n.s3[l]
		for k := l; k < len(n.values); k += lanes {
			r := s0 + s3
			s0, s1, s2, s3 = advanced(s0, s1, s2, s3)
			if v := r & (1<<31 - 1); v < cubicFirst {
				n.values[k] = normalExact(v, r)
			}
		}
		n.s0[l], n.s1[l], n.s2[l], n.s3[l] = s0, s1, s2, s3
	}
}

// advanced is the next state of a xoshiro128+ generator. It must stay small
// enough to be inlined.
func advanced(s0, s1, s2, s3 uint32) (t0, t1, t2, t3 uint32) {
	t := s1 << 9
	s2 ^= s0
	s3 ^= s1
	s1 ^= s2
	s0 ^= s3
	return s0, s1, s2 ^ t, bits.RotateLeft32(s3, 11)
}

// The cubics are for cubicFirst ≤ v < 2³¹.
const (
	cubicFirst  = 1 << 15
	segments    = 2 * (31 - 15)
	firstHalf   = (127 + 15) << 1 // exponent and top mantissa bit of float32(2¹⁵)
	segmentMask = segments - 1
)

// segment finds the cubic for v and its argument, v rounded towards zero. Without the bits
// v>>24, float32 holds v, or loses less than half of its last bit. Like cubic it must stay
// small enough to be inlined into fill: calls would halve the speed.
func segment(v uint32) (c *[4]float32, f float32) {
	f = float32(int32(v &^ (v >> 24)))
	return &inverse[(math.Float32bits(f)>>22-firstHalf)&segmentMask], f
}

// cubic evaluates a segment, with the sign of r's top bit.
func cubic(c *[4]float32, f float32, r uint32) float32 {
	x := c[0] + float32(f*(c[1]+float32(f*(c[2]+float32(f*c[3])))))
	return math.Float32frombits(math.Float32bits(x) ^ r&(1<<31))
}

// normalExact is ±Φ⁻¹(1−q) for q = (v+½)/2³².
func normalExact(v, r uint32) float32 {
	x := float32(math.Sqrt2 * math.Erfcinv(2*(float64(v)+0.5)/(1<<32)))
	return math.Float32frombits(math.Float32bits(x) ^ r&(1<<31))
}
