package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/network/velocity"
)

// Subject is a function that a Conditioner makes the network's inputs for.
type Subject struct {
	Index int // within the data set: names the function's random streams
	// Function has the stored fields. If it comes from a shard its System is nil:
	// then it is function Index of the family.
	Function family.Function
}

// Conditioner makes the inputs of a network for a function: from its stored fields
// (Stored), or from probes of its SDE (Probed). Training and sampling use the same.
type Conditioner interface {
	// Condition appends to inputs[k] the standardised values of input k of every
	// subject, in their order. The values of a subject do not depend on the others.
	Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error
}

// Stored conditions on stored fields and on fields derived from them.
type Stored struct {
	sources          []source
	grid             sde.Grid // of drift and diffusion, for derived inputs
	drift, diffusion int      // indices among the function's fields, for derived inputs
}

// source says how to make an input: from a stored field, or by derive.
type source struct {
	name string
	size int

	index    int // among the function's fields
	standard shard.Standard
	derive   derivation // nil for a stored field
}

// NewStored makes a Conditioner for inputs that are fields of the family, by name and
// shape, or that derivations compute from drift and diffusion on the grid. n is the
// normalisation of the training shards. A family without a grid has the zero grid and
// no derived inputs.
func NewStored(inputs []velocity.Input, fields []family.Field, grid sde.Grid, n shard.Normalisation) (*Stored, error) {
	s := &Stored{grid: grid}
	for _, input := range inputs {
		if err := CheckInput(input, fields, grid); err != nil {
			return nil, err
		}
		from := source{name: input.Name, size: input.Size(), index: fieldIndex(input.Name, fields)}
		if from.index < 0 {
			from.derive = derivations[input.Name]
			s.drift, s.diffusion = fieldIndex("drift", fields), fieldIndex("diffusion", fields)
		} else {
			var ok bool
			if from.standard, ok = n[input.Name]; !ok {
				return nil, fmt.Errorf("the normalisation lacks the input %q", input.Name)
			}
		}
		s.sources = append(s.sources, from)
	}
	return s, nil
}

// ErrInput means that the family's functions do not have an input of the network, or
// have it in another shape.
var ErrInput = errors.New("the network's input")

// CheckInput reports an input that is neither a stored field nor derived from drift
// and diffusion on the grid. The error is a *ShapeError if only the shape differs.
func CheckInput(input velocity.Input, fields []family.Field, grid sde.Grid) error {
	stored, shape := "the stored field", []int{grid.N}
	if k := fieldIndex(input.Name, fields); k >= 0 {
		shape = fields[k].Shape
	} else if stored = "the derived field"; derivations[input.Name] == nil || grid.N == 0 {
		return fmt.Errorf("%w %q is no stored field", ErrInput, input.Name)
	}
	if !slices.Equal(shape, input.Shape) {
		return &ShapeError{Input: input, Field: stored, Shape: shape}
	}
	return nil
}

// ShapeError is an ErrInput: the field exists in another shape.
type ShapeError struct {
	Input velocity.Input
	Field string // "the stored field" or "the derived field"
	Shape []int  // of the field
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%v %q has shape %v, %s %v", ErrInput, e.Input.Name, e.Input.Shape, e.Field, e.Shape)
}

func (e *ShapeError) Unwrap() error { return ErrInput }

// fieldIndex is the index of the field of that name, −1 if there is none.
func fieldIndex(name string, fields []family.Field) int {
	return slices.IndexFunc(fields, func(f family.Field) bool { return f.Name == name })
}

// Condition implements Conditioner. It does not allocate for stored fields if the
// inputs have the capacity.
func (s *Stored) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	for _, subject := range subjects {
		fields := subject.Function.Fields
		for k, from := range s.sources {
			if from.derive != nil {
				if max(s.drift, s.diffusion) >= len(fields) {
					return fmt.Errorf("function %d: %s is derived from drift and diffusion", subject.Index, from.name)
				}
				var err error
				c := sde.Coefficients{Grid: s.grid, Drift: fields[s.drift], Diffusion: fields[s.diffusion]}
				if inputs[k], err = from.derive(inputs[k], c); err != nil {
					return fmt.Errorf("function %d: %s: %w", subject.Index, from.name, err)
				}
				continue
			}
			if from.index >= len(fields) || len(fields[from.index]) != from.size {
				return fmt.Errorf("function %d: the network takes %d values of %s", subject.Index, from.size, from.name)
			}
			inputs[k] = standardise(inputs[k], fields[from.index], from.standard)
		}
	}
	return ctx.Err()
}

// standardise appends (value − mean)/std of every value to dst.
func standardise(dst, values []float32, s shard.Standard) []float32 {
	scale := 1 / s.Std
	for _, value := range values {
		dst = append(dst, float32((float64(value)-s.Mean)*scale))
	}
	return dst
}
