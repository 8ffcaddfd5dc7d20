package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Tensor is a declared tensor with its bytes, little-endian, in C order.
type Tensor struct {
	Info
	Data []byte
}

// littleEndian reports that the machine has the format's byte order, so that views need
// no copy.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// Float32 makes an F32 tensor of values. It shares their memory if the machine is
// little-endian.
func Float32(name string, shape []int, values []float32) Tensor {
	return Tensor{Info{name, F32, shape}, bytesOf(values)}
}

// Float64 is Float32 for F64.
func Float64(name string, shape []int, values []float64) Tensor {
	return Tensor{Info{name, F64, shape}, bytesOf(values)}
}

// Int64 is Float32 for I64.
func Int64(name string, shape []int, values []int64) Tensor {
	return Tensor{Info{name, I64, shape}, bytesOf(values)}
}

// Bytes makes a one-dimensional U8 tensor that shares values.
func Bytes(name string, values []byte) Tensor {
	return Tensor{Info{name, U8, []int{len(values)}}, values}
}

// Float32s returns the elements of an F32 tensor: a view of Data, or a copy if Data is
// not aligned or the machine is big-endian. A view is valid while the [File] is open.
// Do not write to it.
func (t Tensor) Float32s() ([]float32, error) { return elements[float32](t, F32) }

// Float64s is Float32s for F64.
func (t Tensor) Float64s() ([]float64, error) { return elements[float64](t, F64) }

// Int64s is Float32s for I64.
func (t Tensor) Int64s() ([]int64, error) { return elements[int64](t, I64) }

type element interface{ ~float32 | ~float64 | ~int64 }

func elements[E element](t Tensor, want DType) ([]E, error) {
	if t.DType != want {
		return nil, fmt.Errorf("tensor %q is %s, not %s", t.Name, t.DType, want)
	}
	var zero E
	size := int(unsafe.Sizeof(zero))
	if len(t.Data)%size != 0 {
		return nil, fmt.Errorf("tensor %q: %d bytes are no whole number of %s", t.Name, len(t.Data), want)
	}
	n := len(t.Data) / size
	if n == 0 {
		return []E{}, nil
	}
	first := unsafe.Pointer(unsafe.SliceData(t.Data))
	if littleEndian && uintptr(first)%uintptr(size) == 0 {
		return unsafe.Slice((*E)(first), n), nil
	}
	out := make([]E, n)
	if _, err := binary.Decode(t.Data, binary.LittleEndian, out); err != nil {
		return nil, fmt.Errorf("tensor %q: %w", t.Name, err)
	}
	return out, nil
}

// bytesOf is the little-endian image of values: a view, or a copy on a big-endian
// machine.
func bytesOf[E element](values []E) []byte {
	if len(values) == 0 {
		return []byte{}
	}
	size := int(unsafe.Sizeof(values[0]))
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(values))), len(values)*size)
	}
	out := make([]byte, 0, len(values)*size)
	for _, v := range values {
		switch v := any(v).(type) {
		case float32:
			out = binary.LittleEndian.AppendUint32(out, math.Float32bits(v))
		case float64:
			out = binary.LittleEndian.AppendUint64(out, math.Float64bits(v))
		case int64:
			out = binary.LittleEndian.AppendUint64(out, uint64(v))
		}
	}
	return out
}
