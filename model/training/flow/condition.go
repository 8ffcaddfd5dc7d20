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

// Subject is a function whose inputs a Conditioner makes.
type Subject struct {
	Index int // within the data set: names the function's random streams
	// Function has its stored fields. If it comes from a shard, its System is nil: the
	// equation is that of function Index of the family.
	Function family.Function
}

// Conditioner makes the inputs of a network that describe functions: from their stored
// fields (Stored), or from probes of their SDEs (Probed). It is the same in training and
// afterwards.
type Conditioner interface {
	// Condition appends to inputs[k] the standardised values of input k of every
	// subject, in their order. They depend on each subject alone, not on the others.
	Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error
}

// Stored conditions on stored fields and on fields derived from them.
type Stored struct {
	sources          []source
	grid             sde.Grid // of drift and diffusion, where inputs are derived
	drift, diffusion int      // their places among the function's fields
	scale            float64  // of the flow's coordinates
}

// source is what an input is made from.
type source struct {
	name string
	size int

	place    int // among the function's fields
	standard shard.Standard
	derive   derivation // nil where the input is a stored field
}

// NewStored makes the inputs from the family's fields of the same names and
// shapes, with the normalisation of the training shards, or derives them from
// drift and diffusion on the grid. The zero grid stands for a family without: then
// nothing is derived.
func NewStored(inputs []velocity.Input, fields []family.Field, grid sde.Grid, n shard.Normalisation) (*Stored, error) {
	frame, err := FrameOf(n, 1) // inputs are derived on the line alone
	if err != nil {
		return nil, err
	}
	s := &Stored{grid: grid, scale: frame.Scale(0)}
	for _, input := range inputs {
		if err := Find(input, fields, grid); err != nil {
			return nil, err
		}
		from := source{name: input.Name, size: input.Size(), place: place(input.Name, fields)}
		if from.place < 0 {
			from.derive = derivations[input.Name]
			s.drift, s.diffusion = place("drift", fields), place("diffusion", fields)
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

// ErrInput is an input of a network that functions do not have, or not in its shape.
var ErrInput = errors.New("the network's input")

// Find reports an input that is neither among the fields that are stored nor can be
// derived from drift and diffusion on the grid; a *ShapeError, if it is only of
// another shape.
func Find(input velocity.Input, fields []family.Field, grid sde.Grid) error {
	stored, shape := "the stored field", []int{grid.N}
	if k := place(input.Name, fields); k >= 0 {
		shape = fields[k].Shape
	} else if stored = "the derived field"; derivations[input.Name] == nil || grid.N == 0 {
		return fmt.Errorf("%w %q is no stored field", ErrInput, input.Name)
	}
	if !slices.Equal(shape, input.Shape) {
		return &ShapeError{Input: input, Field: stored, Shape: shape}
	}
	return nil
}

// ShapeError is an ErrInput that is there in another shape.
type ShapeError struct {
	Input velocity.Input
	Field string // what is there: "the stored field"
	Shape []int  // and its shape
}

func (e *ShapeError) Error() string {
	return fmt.Sprintf("%v %q has shape %v, %s %v", ErrInput, e.Input.Name, e.Input.Shape, e.Field, e.Shape)
}

func (e *ShapeError) Unwrap() error { return ErrInput }

// place of a name among the fields, −1 if it has none.
func place(name string, fields []family.Field) int {
	return slices.IndexFunc(fields, func(f family.Field) bool { return f.Name == name })
}

// Condition implements Conditioner. Inputs that are stored do not allocate where
// there is room for them.
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
				if inputs[k], err = from.derive(inputs[k], c, s.scale); err != nil {
					return fmt.Errorf("function %d: %s: %w", subject.Index, from.name, err)
				}
				continue
			}
			if from.place >= len(fields) || len(fields[from.place]) != from.size {
				return fmt.Errorf("function %d: the network takes %d values of %s", subject.Index, from.size, from.name)
			}
			inputs[k] = standardise(inputs[k], fields[from.place], from.standard)
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
