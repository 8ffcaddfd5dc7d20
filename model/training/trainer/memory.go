package trainer

import (
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
		most = max(most, c.activations(model.Summary(), functions))
	}
	const floatBytes = 4
	return process + floatBytes*uint64(copies*c.Model.Layout().Size()+activations*most)
}

// LeastMemory is what a worker needs for the smallest networks, in bytes; zero where Memory is.
func LeastMemory(backendName string) uint64 { return processMemory[backendName] }

// activations are those of a batch with that many functions.
func (c Config) activations(layers []velocity.Layer, functions int) int {
	if c.Points == 0 {
		return velocity.Activations(layers, functions, c.Samples)
	}
	atPoints := velocity.Activations(layers, 1, c.Points) - velocity.Activations(layers, 1, 0)
	return velocity.Activations(layers, functions, 0) + atPoints + functions*c.Points
}

// FLOPs of the gradient of a batch with that many functions, see velocity.FLOPs.
func (c Config) FLOPs(functions int) float64 {
	if c.Points == 0 {
		return c.Model.FLOPs(functions, c.Samples)
	}
	return c.Model.FLOPs(functions, 0) + c.Model.FLOPs(1, c.Points) - c.Model.FLOPs(1, 0)
}
