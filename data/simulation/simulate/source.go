package simulate

import "sync"

// Source gives the numbers of one stream one by one.
type Source struct{ s0, s1, s2, s3 uint32 }

// NewSource starts a stream; Generator says which.
func NewSource(seed uint64, purpose string, index ...uint64) Source {
	s := Generator(seed, purpose, index...)
	return Source{s[0], s[1], s[2], s[3]}
}

// Uint32 is the generator's next output.
func (s *Source) Uint32() uint32 {
	r := s.s0 + s.s3
	s.s0, s.s1, s.s2, s.s3 = advanced(s.s0, s.s1, s.s2, s.s3)
	return r
}

// Uniform is uniform on [0, 1), a multiple of 2⁻²⁴, by the upper bits of the
// next output.
func (s *Source) Uniform() float32 { return float32(s.Uint32()>>8) * (1. / (1 << 24)) }

// Noise gives the normal numbers of up to Lanes sources at once, on the fastest
// engine, for simulations of a few steps of what engines do not step.
type Noise struct {
	normals normals
	active  int
}

// Lanes is how many sources a Noise has at most, and Window how many numbers of
// each it makes at a time.
const (
	Lanes  = lanes
	Window = window
)

var noises = sync.Pool{New: func() any { return new(Noise) }}

// BorrowNoise takes a Noise without sources. Return gives it back.
func BorrowNoise() *Noise {
	n := noises.Get().(*Noise)
	n.active = 0
	return n
}

// Return gives the Noise back; it must not be used afterwards.
func (n *Noise) Return() { noises.Put(n) }

// Add makes a source the next lane.
func (n *Noise) Add(s Source) {
	l := n.active
	n.normals.s0[l], n.normals.s1[l], n.normals.s2[l], n.normals.s3[l] = s.s0, s.s1, s.s2, s.s3
	n.active++
}

// Next has the next Window numbers of all sources: number k of lane l at
// [k·Lanes + l]. They are there until the next call.
func (n *Noise) Next() *[Window * Lanes]float32 {
	for l := n.active; l%widest != 0; l++ { // engines fill whole vectors
		n.normals.repeat(l)
	}
	engines[0].fill(&n.normals, n.active)
	return &n.normals.values
}
