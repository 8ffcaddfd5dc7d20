// Package parameters describes the layout of all parameters of a network in one flat
// float32 vector. Optimizer, all-reduce, checkpoints and peer transfers use only the
// vector; the layout gives its parts names and shapes.
package parameters

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/ergoflow/ergoflow/data/random"
)

// Tensor is one named part of the vector, stored row-major.
type Tensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	// Start is the law of the initial values, by default Uniform.
	Start Start `json:"start,omitempty"`
	// FanIn is the number of inputs that each output sums over, for weights and biases
	// of a layer. Only Uniform needs it.
	FanIn int `json:"fan_in,omitempty"`
}

// Start is the law of a tensor's initial values.
type Start string

// The laws.
const (
	Uniform Start = ""       // on ±1/√FanIn, as in torch.nn.Linear and Conv1d
	Zeros   Start = "zeros"  // outputs that are zero at first, offsets
	Ones    Start = "ones"   // gains
	Normal  Start = "normal" // N(0, NormalStd²): learned tokens
)

// NormalStd is the standard deviation of Normal.
const NormalStd = 0.02

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

// Offsets returns where each tensor begins, then the length of the vector: tensor i is
// [offsets[i], offsets[i+1]).
func (l Layout) Offsets() []int {
	offsets := make([]int, len(l)+1)
	for i, t := range l {
		offsets[i+1] = offsets[i] + t.Size()
	}
	return offsets
}

// Split returns the tensors' values, which are parts of theta, by their names. The length of
// theta is the layout's size.
func (l Layout) Split(theta []float32) map[string][]float32 {
	parts := make(map[string][]float32, len(l))
	offsets := l.Offsets()
	for i, t := range l {
		parts[t.Name] = theta[offsets[i]:offsets[i+1]:offsets[i+1]]
	}
	return parts
}

// Equal reports whether both have the same tensors, by name and shape, in the same
// order. Initial values do not matter.
func (l Layout) Equal(other Layout) bool {
	return slices.EqualFunc(l, other, func(a, b Tensor) bool {
		return a.Name == b.Name && slices.Equal(a.Shape, b.Shape)
	})
}

// Validate reports names that are empty or not unique, shapes and fan-ins that are not
// positive, and unknown laws of initial values.
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
		switch t.Start {
		case Uniform:
			if t.FanIn <= 0 {
				return fmt.Errorf("parameter %q has fan-in %d", t.Name, t.FanIn)
			}
		case Zeros, Ones, Normal:
		default:
			return fmt.Errorf("parameter %q has unknown start %q", t.Name, t.Start)
		}
	}
	return nil
}

// Initialise returns a vector of initial values. It depends on the seed and the layout
// alone, so it is the same on every backend. The values of a tensor do not depend on the
// laws of the others.
func (l Layout) Initialise(seed uint64) []float32 {
	theta := make([]float32, l.Size())
	offset := 0
	for i, t := range l {
		part := theta[offset : offset+t.Size()]
		t.initialise(part, random.New(seed, "parameters", uint64(i)))
		offset += len(part)
	}
	return theta
}

func (t Tensor) initialise(part []float32, source *rand.Rand) {
	bound := 1 / math.Sqrt(float64(t.FanIn))
	for j := range part {
		switch t.Start {
		case Uniform:
			part[j] = float32(bound * (2*source.Float64() - 1))
		case Ones:
			part[j] = 1
		case Normal:
			part[j] = float32(NormalStd * source.NormFloat64())
		}
	}
}
