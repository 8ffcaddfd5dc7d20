package simulate

import "sync"

// Source yields the numbers of one stream, one at a time.
type Source struct{ s0, s1, s2, s3 uint32 }

// NewSource starts the stream of Generator.
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

// Uniform is uniform on the multiples of 2⁻²⁴ in [0, 1). It uses the upper bits of the next
// output.
func (s *Source) Uniform() float32 { return uniform(s.Uint32()) }

// uniform is the uniform number of an output of the generator.
func uniform(output uint32) float32 { return float32(output>>8) * (1. / (1 << 24)) }

// Noise yields the normal numbers of up to Lanes sources at once, on the fastest engine. It
// serves short simulations that engines do not run, such as probes.
type Noise struct {
	normals normals
	active  int
}

// Lanes is the largest number of sources of a Noise. Window is how many numbers of each it
// makes at a time.
const (
	Lanes  = lanes
	Window = window
)

var noises = sync.Pool{New: func() any { return new(Noise) }}

// BorrowNoise takes a Noise without sources from a pool. Return puts it back.
func BorrowNoise() *Noise {
	n := noises.Get().(*Noise)
	n.active = 0
	return n
}

// Return puts the Noise back into the pool; it must not be used afterwards.
func (n *Noise) Return() { noises.Put(n) }

// Add makes a source the next lane.
func (n *Noise) Add(s Source) {
	l := n.active
	n.normals.s0[l], n.normals.s1[l], n.normals.s2[l], n.normals.s3[l] = s.s0, s.s1, s.s2, s.s3
	n.active++
}

// Next has the next Window numbers of all sources: number k of lane l at
// [k·Lanes + l]. They are valid until the next call.
func (n *Noise) Next() *[Window * Lanes]float32 {
	for l := n.active; l%widest != 0; l++ { // engines fill whole vectors
		n.normals.repeat(l)
	}
	engines[0].fill(&n.normals, n.active)
	return &n.normals.values
}
