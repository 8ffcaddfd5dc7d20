package simulate

import "github.com/ergoflow/ergoflow/data/random"

// What follows is for simulators that are not of this package: with it they draw
// the same normals.

// Bound is where a state counts as diverged: a coordinate of ±Bound or beyond,
// or one that is not finite.
const Bound = bound

// Reach is how far from 0 grids may be, and the standard deviation of the first states:
// with both, no chain starts beyond the bound, which on the line is about the middle of
// the grid.
const Reach = bound / 10

// Generator is a xoshiro128+ generator before its first number. That of a chain
// has the index (function, chain). Of its normals, in order, the first d make
// the chain's first state, and each step takes the next d, where d is the
// dimension of a state.
func Generator(seed uint64, purpose string, index ...uint64) [4]uint32 {
	hi, lo := random.Key(seed, purpose, index...)
	// the zero state is a fixed point
	return [4]uint32{uint32(hi >> 32), uint32(hi), uint32(lo >> 32), uint32(lo) | 1}
}

// Normal is the standard normal number that an output r of the generator
// stands for.
func Normal(r uint32) float32 {
	v := r & (1<<31 - 1)
	if v >= cubicFirst {
		c, f := segment(v)
		return cubic(c, f, r)
	}
	return normalExact(v, r)
}

// Cubics returns what Normal evaluates for v ≥ CubicFirst, where v is r without
// its top bit, the sign: with f = float32(v), rounded towards zero, the absolute
// value is c₀ + f(c₁ + f(c₂ + f·c₃)), the coefficients being those of half-octave
// 2(e−15) + ⌊2m⌋ for f = 2ᵉ(1+m).
func Cubics() [segments][4]float32 { return inverse }

// CubicFirst is where Cubics begin.
const CubicFirst = cubicFirst
