package trainer

import (
	"cmp"

	"github.com/ergoflow/ergoflow/model/compute/backend"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// What a worker holds in the host's memory, fitted to workers that were measured:
// docs/operations.md has the table. Pages of files are not counted, since the kernel takes them
// back when it needs to.
const (
	copies      = 32 // of the parameters: θ, m, v, gradients, states to send, what compiling needs
	activations = 4  // numbers for each that a layer of the forward pass returns
)

// processMemory is what a worker holds without parameters and batches, in bytes.
var processMemory = map[string]uint64{backend.XLACPU: 140 << 20, backend.Go: 16 << 20}

// Memory estimates the bytes of the host's memory that a worker needs to compute the gradients
// of batches with that many functions: of micro-batches, where batches are cut. Workers that were
// measured needed 0.8 to 1.4 times as many. It is zero for a backend that computes in memory of
// its own.
func (c Config) Memory(backendName string, functions int) uint64 {
	process, known := processMemory[backendName]
	if !known {
		return 0
	}
	most := 0
	for _, model := range c.models() {
		most = max(most, velocity.Activations(model.Summary(), functions, c.states(functions)))
	}
	const floatBytes = 4
	return process + floatBytes*uint64(copies*c.Model.Layout().Size()+activations*most)
}

// LeastMemory is what a worker needs for the smallest networks, in bytes; zero where Memory is.
func LeastMemory(backendName string) uint64 { return processMemory[backendName] }

// states are those at which the layers of a state are computed, for that many functions.
func (c Config) states(functions int) int { return cmp.Or(c.Points, functions*c.Samples) }

// FLOPs of the gradient of a batch with that many functions, see velocity.FLOPs.
func (c Config) FLOPs(functions int) float64 { return c.Model.FLOPs(functions, c.states(functions)) }
