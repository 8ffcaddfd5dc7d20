package allreduce

import (
	"fmt"

	"github.com/ergoflow/ergoflow"
)

// MaxWorld bounds the ranks of one ring.
const MaxWorld = 1024

// Identity is one rank's place in one generation.
type Identity struct {
	Generation  ergoflow.Generation
	Rank, World int
}

func (id Identity) successor() int   { return (id.Rank + 1) % id.World }
func (id Identity) predecessor() int { return (id.Rank + id.World - 1) % id.World }

func (id Identity) String() string {
	return fmt.Sprintf("generation %d rank %d of %d", id.Generation, id.Rank, id.World)
}

func (id Identity) validate() error {
	switch {
	case id.Generation == 0:
		return fmt.Errorf("generation 0 is before the first")
	case id.World < 1 || id.World > MaxWorld:
		return fmt.Errorf("world size %d outside 1..%d", id.World, MaxWorld)
	case id.Rank < 0 || id.Rank >= id.World:
		return fmt.Errorf("rank %d outside 0..%d", id.Rank, id.World-1)
	}
	return nil
}

// Options are what all ranks of a ring must agree on; the handshake compares
// them.
type Options struct {
	Wire Wire // number format of the messages; zero: Float32
}

func (o Options) validate() error {
	if o.Wire != Float32 && o.Wire != BFloat16 {
		return fmt.Errorf("unknown wire format %d", o.Wire)
	}
	return nil
}
