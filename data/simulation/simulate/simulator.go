package simulate

import (
	"context"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Simulator draws samples of many SDEs at once: an *Engine on this machine's
// processor, or a device.
type Simulator interface {
	// Simulate fills dst, shape [b.Count, samples, d], with samples of every
	// function of the batch. Samples of one function are in the order of its
	// chains. progress, which may be nil, is called with the number of functions
	// done, in order and never concurrently. Errors name the function; the contents
	// of dst are undefined then.
	Simulate(ctx context.Context, dst []float32, b Batch, progress func(done, total int)) error
	// String names the simulator. Samples depend on the batch and this name alone.
	String() string
}

// Batch is a range of functions to simulate with one scheme.
type Batch struct {
	First, Count int // functions First … First+Count−1
	// System makes function i. It is called from many goroutines, and must return
	// the same kind of system with the same sizes for all functions.
	System  func(i int) (sde.System, error)
	Scheme  Scheme
	Seed    uint64
	Purpose string // names independent sets of samples
}
