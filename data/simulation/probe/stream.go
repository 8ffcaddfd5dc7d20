package probe

import "github.com/ergoflow/ergoflow/data/simulation/simulate"

// stream is the randomness of one function's probes. Every sensor has a source
// of its own: two uniform numbers make its start, then two normal ones a step.
type stream struct {
	seed     uint64
	purpose  string
	function uint64
}

func (s stream) sensor(k int) simulate.Source {
	return simulate.NewSource(s.seed, s.purpose, s.function, uint64(k))
}
