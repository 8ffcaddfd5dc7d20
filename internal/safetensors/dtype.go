package safetensors

import (
	"fmt"
	"math/bits"
)

// DType is an element type by its name in the header.
type DType string

// The element types of the format whose size is whole bytes.
const (
	Bool DType = "BOOL"
	U8   DType = "U8"
	I8   DType = "I8"
	I16  DType = "I16"
	U16  DType = "U16"
	F16  DType = "F16"
	BF16 DType = "BF16"
	I32  DType = "I32"
	U32  DType = "U32"
	F32  DType = "F32"
	I64  DType = "I64"
	U64  DType = "U64"
	F64  DType = "F64"
)

// Size is the number of bytes of one element, 0 for an unknown type.
func (d DType) Size() int {
	switch d {
	case Bool, U8, I8:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I32, U32, F32:
		return 4
	case I64, U64, F64:
		return 8
	}
	return 0
}

// Info declares a tensor: all that the header has of it except its offsets.
type Info struct {
	Name  string
	DType DType
	Shape []int // empty for a scalar
}

// Bytes is the size of the tensor's data. It fails on an unknown type, a
// negative dimension and a size that does not fit into an int.
func (i Info) Bytes() (int, error) {
	size := i.DType.Size()
	if size == 0 {
		return 0, fmt.Errorf("tensor %q: unknown dtype %q", i.Name, string(i.DType))
	}
	// A later zero does not undo an overflow: [1<<62, 8, 0] is an error, as in the
	// reference implementation.
	n := uint64(size)
	for _, d := range i.Shape {
		if d < 0 {
			return 0, fmt.Errorf("tensor %q: negative dimension in shape %v", i.Name, i.Shape)
		}
		hi, lo := bits.Mul64(n, uint64(d))
		if hi != 0 || lo > maxInt {
			return 0, fmt.Errorf("tensor %q: shape %v of %s overflows", i.Name, i.Shape, i.DType)
		}
		n = lo
	}
	return int(n), nil
}

const maxInt = uint64(^uint(0) >> 1)
