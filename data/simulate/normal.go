package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/random"
)

const (
	lanes  = 64 // chains that advance together
	window = 16 // steps for which normals are made at once
)

// normals makes standard normal numbers for up to 64 chains, one per chain and
// step, each chain from a xoshiro128+ generator of its own (Blackman and Vigna
// 2018, period 2¹²⁸−1). One 32-bit output gives one normal by inversion: the top bit is
// the sign, the other 31 bits v a tail probability q = (v+½)/2³² and
// |ξ| = Φ⁻¹(1−q). For v ≥ 2¹⁵ that is a cubic on each half of an octave of v,
// whose index and argument are bits of float32(v); its error is below 2.6e-5.
// The tail, one draw in 65,536, is computed in double precision and ends at
// |ξ| = 6.3. Products are rounded before sums everywhere, so that fused
// multiply-adds of some architectures cannot change a sample.
type normals struct {
	s0, s1, s2, s3 [lanes]uint32
	values         [window * lanes]float32 // of step k at [k·lanes, k·lanes+lanes)
}

// seed starts the generator of one lane.
func (n *normals) seed(lane int, seed uint64, purpose string, function, chain uint64) {
	hi, lo := random.Key(seed, purpose, function, chain)
	n.s0[lane], n.s1[lane] = uint32(hi>>32), uint32(hi)
	n.s2[lane], n.s3[lane] = uint32(lo>>32), uint32(lo)|1 // the zero state is a fixed point
}

// fill makes the normals of the next window for the first active lanes.
func (n *normals) fill(active int) {
	for l := range min(active, lanes) {
		s0, s1, s2, s3 := n.s0[l], n.s1[l], n.s2[l], n.s3[l]
		for k := l; k < len(n.values); k += lanes {
			n.values[k] = normal(s0 + s3)
			t := s1 << 9
			s2 ^= s0
			s3 ^= s1
			s1 ^= s2
			s0 ^= s3
			s2 ^= t
			s3 = s3<<11 | s3>>21
		}
		n.s0[l], n.s1[l], n.s2[l], n.s3[l] = s0, s1, s2, s3
	}
}

const (
	tailBits    = 15                    // v below 2¹⁵ is the tail
	firstHalf   = (127 + tailBits) << 1 // exponent and top mantissa bit of float32(2¹⁵)
	largest31   = 1<<31 - 128           // largest float32 below 2³¹
	halfOctave  = 1<<22 - 1             // mantissa bits below the half-octave's
	segments    = 2 * (31 - tailBits)
	segmentMask = segments - 1
)

// normal inverts the normal distribution at 32 random bits.
func normal(r uint32) float32 {
	v := r & (1<<31 - 1)
	sign := r & (1 << 31)
	if v < 1<<tailBits {
		return math.Float32frombits(math.Float32bits(normalTail(v)) | sign)
	}
	f := float32(int32(v))
	if f > largest31 {
		f = largest31
	}
	bits := math.Float32bits(f)
	c := &inverse[(bits>>22-firstHalf)&segmentMask]
	d := math.Float32frombits(bits&halfOctave|0x3f800000) - 1.25
	x := c[0] + float32(d*(c[1]+float32(d*(c[2]+float32(d*c[3])))))
	return math.Float32frombits(math.Float32bits(x) ^ sign)
}

// normalTail is Φ⁻¹(1−q) for q = (v+½)/2³².
func normalTail(v uint32) float32 {
	return float32(math.Sqrt2 * math.Erfcinv(2*(float64(v)+0.5)/(1<<32)))
}
