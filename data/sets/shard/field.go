package shard

import (
	"errors"
	"fmt"
)

// Field is a tensor that shards store of every function beside its samples, for example its
// drift on a grid.
type Field struct {
	Name  string `json:"name" yaml:"name"`   // lower-case letters, digits and underscores
	Shape []int  `json:"shape" yaml:"shape"` // for one function
}

// Size is the number of values for one function.
func (f Field) Size() int {
	size := 1
	for _, n := range f.Shape {
		size *= n
	}
	return size
}

const (
	maxFields = 16
	maxAxes   = 8
)

// validateFields reports names that are not names of tensors, and shapes that are empty or
// too large.
func validateFields(fields []Field) error {
	if len(fields) > maxFields {
		return fmt.Errorf("%d fields, want at most %d", len(fields), maxFields)
	}
	seen := map[string]bool{samples: true}
	for _, f := range fields {
		if !isName(f.Name) || seen[f.Name] {
			return fmt.Errorf("field %q: want a name of lower-case letters, digits and underscores that no other tensor has", f.Name)
		}
		seen[f.Name] = true
		if err := validateShape(f.Shape); err != nil {
			return fmt.Errorf("field %q has shape %v: %w", f.Name, f.Shape, err)
		}
	}
	return nil
}

func validateShape(shape []int) error {
	if len(shape) < 1 || len(shape) > maxAxes {
		return fmt.Errorf("want 1 to %d axes", maxAxes)
	}
	size := 1
	for _, n := range shape {
		if n < 1 || n > maxFunctions/size {
			return errors.New("it is empty or too large")
		}
		size *= n
	}
	return nil
}
