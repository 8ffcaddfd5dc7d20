package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/model/velocity"
)

// Subject is a function that a network is to be told of.
type Subject struct {
	Index int // within the data set: names the function's random streams
	// Function has its stored fields. Its System is nil where it comes from a
	// shard: then it is function Index of the family.
	Function family.Function
}

// Conditioner makes the inputs of a network, what it is told of functions: from
// the fields that are stored of them (Stored), or by observing their SDEs. It is
// the same in training and afterwards.
type Conditioner interface {
	// Condition appends to inputs[k] the standardised values of input k of every
	// subject, in their order. They are a function of each subject alone,
	// whatever else is asked for.
	Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error
}

// Stored conditions on stored fields.
type Stored struct{ fields []storedField }

type storedField struct {
	name     string
	place    int // among the function's fields
	size     int
	standard shard.Standard
}

// NewStored makes the inputs from the family's fields of the same names and
// shapes, with the normalisation of the training shards.
func NewStored(inputs []velocity.Input, fields []family.Field, n shard.Normalisation) (*Stored, error) {
	s := &Stored{}
	for _, input := range inputs {
		place, err := Find(input, fields)
		if err != nil {
			return nil, err
		}
		standard, ok := n[input.Name]
		if !ok {
			return nil, fmt.Errorf("the normalisation lacks the input %q", input.Name)
		}
		s.fields = append(s.fields, storedField{input.Name, place, input.Size(), standard})
	}
	return s, nil
}

// Find returns the place of an input among the fields that are stored.
func Find(input velocity.Input, fields []family.Field) (int, error) {
	place := slices.IndexFunc(fields, func(f family.Field) bool { return f.Name == input.Name })
	if place < 0 {
		return 0, fmt.Errorf("the network's input %q is no stored field", input.Name)
	}
	if !slices.Equal(fields[place].Shape, input.Shape) {
		return 0, fmt.Errorf("the network's input %q has shape %v, the stored field %v", input.Name, input.Shape, fields[place].Shape)
	}
	return place, nil
}

// Condition implements Conditioner. It does not allocate where inputs have room.
func (s *Stored) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	for _, subject := range subjects {
		for k, f := range s.fields {
			if f.place >= len(subject.Function.Fields) || len(subject.Function.Fields[f.place]) != f.size {
				return fmt.Errorf("function %d: the network takes %d values of %s", subject.Index, f.size, f.name)
			}
			inputs[k] = standardise(inputs[k], subject.Function.Fields[f.place], f.standard)
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
