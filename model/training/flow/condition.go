package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
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
	grid             Grid
	drift, diffusion int   // their places among the function's fields, on the line
	frame            Frame // of the flow's coordinates
}

// source is what an input is made from.
type source struct {
	name string
	size int

	place    int // among the function's fields; −1: derived
	standard shard.Standard
}

// NewStored makes the inputs from the family's fields of the same names and
// shapes, with the normalisation of the training shards, or derives them from
// the coefficients on the grid.
func NewStored(inputs []velocity.Input, fields []family.Field, grid Grid, n shard.Normalisation) (*Stored, error) {
	dim := 1
	if grid.Plane != nil {
		dim = 2
	}
	frame, err := FrameOf(n, dim)
	if err != nil {
		return nil, err
	}
	s := &Stored{grid: grid, frame: frame}
	for _, input := range inputs {
		if err := Find(input, fields, grid); err != nil {
			return nil, err
		}
		from := source{name: input.Name, size: input.Size(), place: place(input.Name, fields)}
		if from.place < 0 {
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
// derived from the coefficients on the grid; a *ShapeError, if it is only of
// another shape.
func Find(input velocity.Input, fields []family.Field, grid Grid) error {
	stored, shape := "the stored field", grid.shape()
	if k := place(input.Name, fields); k >= 0 {
		shape = fields[k].Shape
	} else if stored = "the derived field"; !grid.derives(input.Name) {
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

// Condition implements Conditioner, on GOMAXPROCS goroutines where inputs are derived. Inputs
// that are stored do not allocate where there is room for them.
func (s *Stored) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	derived := false
	for k, from := range s.sources {
		inputs[k] = slices.Grow(inputs[k], len(subjects)*from.size)[:len(inputs[k])+len(subjects)*from.size]
		derived = derived || from.place < 0
	}
	if derived {
		return simulate.Each(ctx, len(subjects), func(_ context.Context, i int) error {
			return s.fill(inputs, subjects, i)
		}, nil)
	}
	for i := range subjects {
		if err := s.fill(inputs, subjects, i); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// fill makes the inputs of subject i in its place at the end of inputs.
func (s *Stored) fill(inputs [][]float32, subjects []Subject, i int) error {
	for k, from := range s.sources {
		at := len(inputs[k]) - (len(subjects)-i)*from.size
		if err := s.input(inputs[k][at:at:at+from.size], from, subjects[i].Function.Fields); err != nil {
			return fmt.Errorf("function %d: %w", subjects[i].Index, err)
		}
	}
	return nil
}

// input appends the values of one input to dst, which has room for them.
func (s *Stored) input(dst []float32, from source, fields [][]float32) error {
	if from.place < 0 {
		if _, err := s.derive(dst, from.name, fields); err != nil {
			return fmt.Errorf("%s: %w", from.name, err)
		}
		return nil
	}
	if from.place >= len(fields) || len(fields[from.place]) != from.size {
		return fmt.Errorf("the network takes %d values of %s", from.size, from.name)
	}
	standardise(dst, fields[from.place], from.standard)
	return nil
}

// standardise appends (value − mean)/std of every value to dst.
func standardise(dst, values []float32, s shard.Standard) []float32 {
	scale := 1 / s.Std
	for _, value := range values {
		dst = append(dst, float32((float64(value)-s.Mean)*scale))
	}
	return dst
}
