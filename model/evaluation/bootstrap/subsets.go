package bootstrap

import (
	"math/bits"

	"github.com/ergoflow/ergoflow/data/random"
)

// Subsets are subsets of units, for tests and intervals by typical values (Hartigan, J. Am.
// Stat. Assoc. 64, 1969). Let units have independent values that are symmetric about θ, with
// any tails and not necessarily the same law. Then θ lies between two neighbours of the
// sorted means over all 2^m − 1 nonempty subsets with probability 2^−m. So
//
//	p = (1 + number of subsets whose sum is ≤ 0) / (1 + number of subsets)
//
// is at most α with probability at most α where θ ≤ 0: a sum over the units outside of a
// subset with their signs changed is ≥ the sum over all exactly where the sum over the
// subset is ≤ 0, so p is that of the sign-flip test. Random subsets, each with every unit
// with probability ½, have the same property (Phipson and Smyth, Stat. Appl. Genet. Mol.
// Biol. 9, 2010).
//
// The bootstrap, which draws with replacement, has no level that holds for few units, and
// needs no symmetry for many of them. For many units both are the same: means over random
// halves have the variance of bootstrap means.
type Subsets struct {
	units, count int
	members      []uint64 // [words, count] bits
}

// NewSubsets takes all nonempty subsets of units where there are at most count of them, and
// else count random ones, which depend on (seed, units) alone.
func NewSubsets(units, count int, seed uint64) Subsets {
	if units < 31 && 1<<units-1 <= count {
		s := Subsets{units, 1<<units - 1, make([]uint64, 1<<units-1)}
		for i := range s.members {
			s.members[i] = uint64(i + 1)
		}
		return s
	}
	s := Subsets{units, count, make([]uint64, (units+63)/64*count)}
	rng := random.New(seed, "bootstrap/subsets", uint64(units))
	for i := range s.members {
		s.members[i] = rng.Uint64()
		if last := units % 64; last > 0 && i/count == units/64 {
			s.members[i] &= 1<<last - 1
		}
	}
	return s
}

// Sums are the sums of values, one of each unit, over every subset. It panics if their
// number is not that of the units. A sum never falls where a value grows, rounding included.
func (s Subsets) Sums(values []float64) []float64 {
	if len(values) != s.units {
		panic("bootstrap: values are not one of each unit")
	}
	sums := make([]float64, s.count)
	for first := 0; first < s.units; first += 8 { // the sums of all subsets of eight units, once
		group := values[first:min(first+8, s.units)]
		var table [256]float64
		for x := 1; x < 1<<len(group); x++ {
			table[x] = table[x&(x-1)] + group[bits.TrailingZeros(uint(x))]
		}
		members := s.members[first/64*s.count:][:s.count]
		for i, m := range members {
			sums[i] += table[m>>(first%64)&0xff]
		}
	}
	return sums
}
