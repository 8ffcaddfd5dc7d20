package allreduce

import (
	"encoding/binary"
	"fmt"
	"math"
	"unsafe"
)

// Wire is the number format of the messages. Sums are float32 in either.
type Wire uint8

const (
	Float32 Wire = iota
	// BFloat16 halves the bytes: the upper half of a float32, rounded to
	// nearest, ties to even. Every partial sum is rounded once per hop.
	BFloat16
)

func (w Wire) String() string {
	switch w {
	case Float32:
		return "f32"
	case BFloat16:
		return "bf16"
	}
	return fmt.Sprintf("wire(%d)", uint8(w))
}

// size is bytes per number.
func (w Wire) size() int {
	if w == BFloat16 {
		return 2
	}
	return 4
}

var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// encode returns the bytes of v: v itself where memory and wire agree, else
// written to scratch, which must hold len(v) numbers.
func (w Wire) encode(scratch func() []byte, v []float32) []byte {
	if w == Float32 && littleEndian {
		return bytesOf(v)
	}
	b := scratch()[:len(v)*w.size()]
	if w == BFloat16 {
		encodeBFloat16(b, v)
		return b
	}
	for i, x := range v {
		binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(x))
	}
	return b
}

// round replaces v by what a receiver of encode(v) reads.
func (w Wire) round(v []float32) {
	if w == BFloat16 {
		for i, x := range v {
			v[i] = fromBFloat16(toBFloat16(x))
		}
	}
}

func bytesOf(v []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), 4*len(v))
}

// fold reads the payload of f, len(dst) numbers, into dst: added or copied.
// Pieces may end within a number.
func (w Wire) fold(dst []float32, f *frame, add bool) {
	size := w.size()
	var carry [4]byte
	held := 0
	f.payload(func(p []byte) {
		if held > 0 {
			n := copy(carry[held:size], p)
			p = p[n:]
			if held += n; held < size {
				return
			}
			w.apply(dst[:1], carry[:size], add)
			dst = dst[1:]
		}
		n := len(p) / size
		w.apply(dst[:n], p[:n*size], add)
		dst = dst[n:]
		held = copy(carry[:], p[n*size:])
	})
}

// apply adds or copies len(dst) whole numbers from src.
func (w Wire) apply(dst []float32, src []byte, add bool) {
	switch {
	case w == BFloat16 && add:
		addBFloat16(dst, src[:2*len(dst)])
	case w == BFloat16:
		decodeBFloat16(dst, src[:2*len(dst)])
	case littleEndian && !add:
		copy(bytesOf(dst), src)
	case littleEndian && len(src) > 0 && uintptr(unsafe.Pointer(&src[0]))%4 == 0:
		addTo(dst, unsafe.Slice((*float32)(unsafe.Pointer(&src[0])), len(dst)))
	default:
		for i := range dst {
			x := math.Float32frombits(binary.LittleEndian.Uint32(src[4*i:]))
			if add {
				x += dst[i]
			}
			dst[i] = x
		}
	}
}

func toBFloat16(x float32) uint16 {
	u := math.Float32bits(x)
	if u&0x7fffffff > 0x7f800000 { // NaN: keep it one
		return uint16(u>>16) | 0x40
	}
	return uint16((u + 0x7fff + u>>16&1) >> 16)
}

func fromBFloat16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }
