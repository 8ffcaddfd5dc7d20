package probe

import "github.com/ergoflow/ergoflow/data/simulation/simulate"

// stream identifies the randomness of one function's probes. Every sensor has a source of
// its own: two uniform numbers for its start, then two normals per step.
type stream struct {
	seed     uint64
	purpose  string
	function uint64
}

func (s stream) sensor(k int) simulate.Source {
	return simulate.NewSource(s.seed, s.purpose, s.function, uint64(k))
}
