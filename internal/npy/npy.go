// Package npy reads and writes NumPy's .npy files (format 1.0 and 2.0) of one-
// and two-dimensional arrays of floating-point numbers:
//
//	offset  bytes   content
//	0       6       \x93NUMPY
//	6       2       version, 1.0 or 2.0
//	8       2 or 4  n, length of the header, little-endian
//	…       n       header: a Python dictionary in ASCII, padded with spaces
//	                {'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }
//	…       rest    the elements
//
// (NumPy Enhancement Proposal 1). Files are untrusted: all lengths are compared
// with the file's size before memory is allocated.
package npy

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

// Array has its elements in C order: element (i, j) of shape [n, d] is
// Data[i·d+j].
type Array[T float32 | float64] struct {
	Shape []int
	Data  []T
}

// ErrFormat means that a file is not .npy, or of a kind that Read does not support.
var ErrFormat = errors.New("not an .npy file of float32 or float64 with one or two dimensions")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Read reads an array of '<f4' or '<f8' in C or Fortran order, without rounding.
// It refuses other types and shapes, truncated files and values that are not
// finite. Errors name the file.
func Read(path string) (Array[float64], error) {
	f, err := os.Open(path)
	if err != nil {
		return Array[float64]{}, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return Array[float64]{}, err
	}
	if !stat.Mode().IsRegular() {
		return Array[float64]{}, fmt.Errorf("%s: not a regular file", path)
	}
	r := bufio.NewReaderSize(f, 1<<16)
	head, _ := r.Peek(gitlfs.Head) // the decoder meets the error again
	if err = gitlfs.Check(head); err != nil {
		return Array[float64]{}, fmt.Errorf("%s: %w", path, err)
	}
	a, err := decode(r, stat.Size())
	if err != nil {
		return Array[float64]{}, fmt.Errorf("%s: %w", path, err)
	}
	return a, nil
}

// decode reads an array from a file of the given size.
func decode(r io.Reader, size int64) (Array[float64], error) {
	h, before, err := readHeader(r, size)
	if err != nil {
		return Array[float64]{}, err
	}
	if have, want := size-before, int64(h.elements)*int64(h.width); have != want {
		return Array[float64]{}, formatError("%d bytes of data, shape %v of %d-byte numbers needs %d: truncated or overlong", have, h.shape, h.width, want)
	}
	data := make([]float64, h.elements)
	buffer := make([]byte, 8)[:h.width]
	for k := range data {
		if _, err := io.ReadFull(r, buffer); err != nil {
			return Array[float64]{}, fmt.Errorf("element %d: %w", k, err)
		}
		var v float64
		if h.width == 4 {
			v = float64(math.Float32frombits(binary.LittleEndian.Uint32(buffer)))
		} else {
			v = math.Float64frombits(binary.LittleEndian.Uint64(buffer))
		}
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Array[float64]{}, fmt.Errorf("element %d is %v: not finite", k, v)
		}
		data[h.place(k)] = v
	}
	return Array[float64]{h.shape, data}, nil
}

// place is the index in C order of the file's element k.
func (h header) place(k int) int {
	if !h.fortran || len(h.shape) < 2 {
		return k
	}
	rows, columns := h.shape[0], h.shape[1]
	return k%rows*columns + k/rows
}
