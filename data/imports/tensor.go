package imports

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"

	"github.com/ergoflow/ergoflow/internal/npy"
	"github.com/ergoflow/ergoflow/internal/safetensors"
)

// tensor is an array in a user's file, whose first axis is the functions. It is read row by
// row, not mapped: a mapped file that is truncated meanwhile would end the program.
type tensor struct {
	name string // in errors
	file *os.File
	at   npy.Layout
}

// tensorsOf are the tensors of a safetensors file.
func tensorsOf(file *os.File, index safetensors.Index) (all []tensor) {
	for _, p := range index.Places {
		float := slices.Contains([]safetensors.DType{safetensors.F16, safetensors.F32, safetensors.F64}, p.DType)
		at := npy.Layout{Shape: p.Shape, DType: string(p.DType), Float: float, Width: p.DType.Size(), Order: binary.LittleEndian, Offset: index.Offset(p)}
		all = append(all, tensor{p.Name, file, at})
	}
	return all
}

// shaped checks type and shape. Where the shape ends with 1, users may leave that out.
func (t *tensor) shaped(shape ...int) error {
	if !t.at.Float {
		return fmt.Errorf("%s has the type %s: must be float16, float32 or float64", t.name, t.at.DType)
	}
	if n := len(shape); shape[n-1] == 1 && slices.Equal(t.at.Shape, shape[:n-1]) {
		t.at.Shape = shape
	}
	if !slices.Equal(t.at.Shape, shape) {
		return fmt.Errorf("%s has shape %v: must be %v", t.name, t.at.Shape, shape)
	}
	return nil
}

// row is the function's part of the array, as float64. The result is dst, grown if necessary.
func (t *tensor) row(i int, dst []float64, raw *[]byte) ([]float64, error) {
	size := 1
	for _, n := range t.at.Shape[1:] {
		size *= n
	}
	dst = slices.Grow(dst[:0], size)[:size]
	*raw = slices.Grow((*raw)[:0], size*t.at.Width)[:size*t.at.Width]
	if _, err := t.file.ReadAt(*raw, t.at.Offset+int64(i)*int64(len(*raw))); errors.Is(err, io.EOF) {
		return nil, errChanged
	} else if err != nil {
		return nil, fmt.Errorf("%s: %w", t.name, err)
	}
	t.at.Floats(dst, *raw)
	for k, v := range dst {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%s of function %d is %v at index %d: must be finite", t.name, i, v, k)
		}
		if s := float32(v); math.IsInf(float64(s), 0) || s == 0 && v != 0 {
			return nil, fmt.Errorf("%s of function %d is %g at index %d, which float32 does not hold", t.name, i, v, k)
		}
	}
	return dst, nil
}

// single rounds values to float32.
func single(values []float64) []float32 {
	dst := make([]float32, len(values))
	for i, v := range values {
		dst[i] = float32(v)
	}
	return dst
}
