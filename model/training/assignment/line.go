package assignment

import (
	"math"
	"slices"
)

// sort pairs points on the line in increasing order: the monotone coupling is optimal
// for every convex cost. Equal points are ordered by their index.
func (s *Solver) sort(match []int32, x, y []float32) {
	n := len(match)
	a, b := s.keys[:n], s.keys[n:2*n]
	for i := range n {
		a[i], b[i] = key(x[i], i), key(y[i], i)
	}
	slices.Sort(a)
	slices.Sort(b)
	for i, k := range a {
		match[uint32(k)] = int32(uint32(b[i]))
	}
}

// key has the order of (v, i). Its upper half are the bits of v, inverted if v is
// negative, else with the top bit set; its lower half is i. It puts −0 before 0.
func key(v float32, i int) uint64 {
	bits := math.Float32bits(v)
	bits ^= uint32(int32(bits)>>31) | 1<<31
	return uint64(bits)<<32 | uint64(i)
}
