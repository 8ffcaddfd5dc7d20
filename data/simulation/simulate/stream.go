package simulate

import "github.com/ergoflow/ergoflow/data/random"

// With what follows, simulators outside this package draw the same normals.

// Bound is where a state counts as diverged: at a coordinate of ±Bound or beyond, or one
// that is not finite.
const Bound = bound

// Reach bounds the distance of grids from 0, and the standard deviation of the first
// states. So no chain starts beyond Bound. On the line Bound is counted from about the
// middle of the grid.
const Reach = bound / 10

// Generator is the initial state of a xoshiro128+ generator. A chain has the index
// (function, chain). The first d of its normals are the chain's first state, and each step
// takes the next d, where d is the dimension of a state.
func Generator(seed uint64, purpose string, index ...uint64) [4]uint32 {
	hi, lo := random.Key(seed, purpose, index...)
	// |1: the zero state is a fixed point
	return [4]uint32{uint32(hi >> 32), uint32(hi), uint32(lo >> 32), uint32(lo) | 1}
}

// Normal is the standard normal number of an output r of the generator.
func Normal(r uint32) float32 {
	v := r & (1<<31 - 1)
	if v >= cubicFirst {
		c, f := segment(v)
		return cubic(c, f, r)
	}
	return normalExact(v, r)
}

// Cubics returns the coefficients that Normal uses for v ≥ CubicFirst, where v is r without
// its top bit, the sign. With f = float32(v), rounded towards zero, the absolute value is
// c₀ + f(c₁ + f(c₂ + f·c₃)), with the coefficients of half-octave 2(e−15) + ⌊2m⌋ for
// f = 2ᵉ(1+m).
func Cubics() [segments][4]float32 { return inverse }

// CubicFirst is the least v of Cubics.
const CubicFirst = cubicFirst
