package npy

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"

	"github.com/ergoflow/ergoflow/internal/atomicfile"
)

// Write writes a one- or two-dimensional array as '<f4' or '<f8', its own type, in C
// order. The file appears complete or, after an error or if ctx ends, not at all.
func Write[T float32 | float64](ctx context.Context, path string, a Array[T]) error {
	f, err := atomicfile.Create(path)
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	if err = Encode(ctx, f, a); err == nil {
		err = f.Commit()
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, errors.Join(err, f.Abort()))
	}
	return nil
}

// WriteNarrow is Write as '<f4' where Single rounds little, and else as '<f8'. It returns
// NumPy's name of the type, float32 or float64.
func WriteNarrow(ctx context.Context, path string, a Array[float64]) (dtype string, err error) {
	if rounded, small := Single(a); small {
		return "float32", Write(ctx, path, rounded)
	}
	return "float64", Write(ctx, path, a)
}

// stretch is how many elements Encode writes between two checks of ctx.
const stretch = 1 << 18

// Encode is Write to a stream, also of three dimensions.
func Encode[T float32 | float64](ctx context.Context, w io.Writer, a Array[T]) error {
	elements := 1
	for _, d := range a.Shape {
		elements *= d
	}
	if n := len(a.Shape); n < 1 || n > 3 || elements != len(a.Data) {
		return fmt.Errorf("shape %v for %d elements", a.Shape, len(a.Data))
	}
	width := binary.Size(T(0))
	dims := fmt.Sprintf("(%d,)", a.Shape[0])
	if len(a.Shape) > 1 {
		dims = fmt.Sprintf("(%s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(a.Shape), " ", ", "), "[]"))
	}
	text := fmt.Sprintf("{'descr': '<f%d', 'fortran_order': False, 'shape': %s, }", width, dims)
	// Spaces and a final newline align the data to 64 bytes.
	padding := 63 - (10+len(text))%64
	b := bufio.NewWriterSize(w, 1<<16)
	b.WriteString(magic + "\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(text)+padding+1)))
	fmt.Fprintf(b, "%s%*s", text, padding+1, "\n")
	element := make([]byte, 0, 8)
	for i, v := range a.Data {
		if i%stretch == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if width == 4 {
			element = binary.LittleEndian.AppendUint32(element[:0], math.Float32bits(float32(v)))
		} else {
			element = binary.LittleEndian.AppendUint64(element[:0], math.Float64bits(float64(v)))
		}
		b.Write(element)
	}
	if err := b.Flush(); err != nil { // returns the first error of all writes
		return err
	}
	return ctx.Err() // the commit that follows cannot be interrupted
}
