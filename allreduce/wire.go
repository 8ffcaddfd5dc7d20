package allreduce

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Wire is the number format in which long vectors of float32 travel. Sums are
// float32 in every format.
type Wire uint8

const (
	Float32 Wire = iota
	// BFloat16 halves the bytes: the upper half of a float32, rounded to
	// nearest, ties to even.
	BFloat16
	// Int8 quarters them: blocks with one exponent, with error feedback (int8.go).
	Int8
)

func (w Wire) String() string {
	switch w {
	case Float32:
		return "f32"
	case BFloat16:
		return "bf16"
	case Int8:
		return "int8"
	}
	return fmt.Sprintf("wire(%d)", uint8(w))
}

// ParseWire reads what String writes; the empty text is Float32.
func ParseWire(name string) (Wire, error) {
	switch name {
	case "", "f32":
		return Float32, nil
	case "bf16":
		return BFloat16, nil
	case "int8":
		return Int8, nil
	}
	return 0, fmt.Errorf("unknown wire format %q: f32, bf16 or int8", name)
}

// format is the number format of one message: a Wire, or 64-bit words.
type format uint8

const formatInt64 format = 3

func (f format) String() string {
	if f == formatInt64 {
		return "int64"
	}
	return Wire(f).String()
}

// bytes is the size of n numbers on the wire.
func (f format) bytes(n int) int {
	switch f {
	case format(BFloat16):
		return 2 * n
	case format(Int8):
		return n + blocks(n)
	case formatInt64:
		return 8 * n
	}
	return 4 * n
}

// unit is how many numbers travel together: a sum that is passed on in other messages than
// it was published in keeps its bits only if these are cut between units.
func (f format) unit() int {
	if f == format(Int8) {
		return blockLength
	}
	return 1
}

// most is how many numbers fit into that many bytes, in whole blocks.
func (f format) most(bytes int) int {
	switch f {
	case format(BFloat16):
		return bytes / 2
	case format(Int8):
		return bytes / (blockLength + 1) * blockLength
	case formatInt64:
		return bytes / 8
	}
	return bytes / 4
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// bytesOf is the memory of the numbers.
func bytesOf[T float32 | int64](v []T) []byte {
	var t T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), int(unsafe.Sizeof(t))*len(v))
}

// numbersOf is the reverse of bytesOf, or nil if b is not aligned for it.
func numbersOf[T float32 | int64](b []byte) []T {
	var t T
	p, size := unsafe.Pointer(unsafe.SliceData(b)), unsafe.Sizeof(t)
	if len(b) == 0 || !littleEndian || uintptr(p)%size != 0 {
		return nil
	}
	return unsafe.Slice((*T)(p), uintptr(len(b))/size)
}

func toBFloat16(x float32) uint16 {
	u := math.Float32bits(x)
	if u&0x7fffffff > 0x7f800000 { // NaN: keep it one
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

func fromBFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
