package assignment

import (
	"math"
	"slices"
)

// sort pairs points on the line in order of size: the monotone coupling is
// optimal for every convex cost. Equal points go by their index.
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

// key has the order of (v, i): the bits of a float32, negative ones inverted
// and positive ones above them, before the index. It puts −0 before 0.
func key(v float32, i int) uint64 {
	bits := math.Float32bits(v)
	bits ^= uint32(int32(bits)>>31) | 1<<31
	return uint64(bits)<<32 | uint64(i)
}
