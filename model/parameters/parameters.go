// Package parameters lays all of a network's parameters out in one flat float32
// vector. Optimizer, all-reduce, checkpoint and peer transfer see only the
// vector; the layout gives its parts names and shapes.
package parameters

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/random"
)

// Tensor is one named part of the vector, stored row-major.
type Tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	// FanIn is the number of inputs that each output sums over. Weights and
	// biases of a layer share it: both start uniform in ±1/√FanIn.
	FanIn int `json:"fan_in"`
}

// Size is the number of elements.
func (t Tensor) Size() int {
	size := 1
	for _, n := range t.Shape {
		size *= n
	}
	return size
}

// Layout lists the tensors in the order of the vector, without gaps.
type Layout []Tensor

// Size is P, the length of the vector.
func (l Layout) Size() int {
	size := 0
	for _, t := range l {
		size += t.Size()
	}
	return size
}

// Offsets returns where each tensor begins, and at the end the length of the
// vector: tensor i is [offsets[i], offsets[i+1]).
func (l Layout) Offsets() []int {
	offsets := make([]int, len(l)+1)
	for i, t := range l {
		offsets[i+1] = offsets[i] + t.Size()
	}
	return offsets
}

// Index returns the position of the tensor with that name, or -1.
func (l Layout) Index(name string) int {
	return slices.IndexFunc(l, func(t Tensor) bool { return t.Name == name })
}

// Equal reports whether both name the same tensors with the same shapes in the
// same order. How they are initialised does not matter.
func (l Layout) Equal(other Layout) bool {
	return slices.EqualFunc(l, other, func(a, b Tensor) bool {
		return a.Name == b.Name && slices.Equal(a.Shape, b.Shape)
	})
}

// Validate reports unnamed or doubly named tensors and shapes or fan-ins that
// are not positive.
func (l Layout) Validate() error {
	seen := make(map[string]bool, len(l))
	for i, t := range l {
		if t.Name == "" {
			return fmt.Errorf("parameter %d has no name", i)
		}
		if seen[t.Name] {
			return fmt.Errorf("two parameters are named %q", t.Name)
		}
		seen[t.Name] = true
		for _, n := range t.Shape {
			if n <= 0 {
				return fmt.Errorf("parameter %q has shape %v", t.Name, t.Shape)
			}
		}
		if t.FanIn <= 0 {
			return fmt.Errorf("parameter %q has fan-in %d", t.Name, t.FanIn)
		}
	}
	return nil
}

// Initialise returns a fresh vector, every element uniform in ±1/√FanIn of its
// tensor, as torch.nn.Linear and Conv1d start. It is a function of the seed and
// the layout alone, so that it is the same on every backend.
func (l Layout) Initialise(seed uint64) []float32 {
	theta := make([]float32, l.Size())
	offset := 0
	for i, t := range l {
		source := random.New(seed, "parameters", uint64(i))
		bound := 1 / math.Sqrt(float64(t.FanIn))
		part := theta[offset : offset+t.Size()]
		for j := range part {
			part[j] = float32(bound * (2*source.Float64() - 1))
		}
		offset += len(part)
	}
	return theta
}
