// Package npy reads and writes NumPy's .npy files (format 1.0 to 3.0) of one-
// and two-dimensional arrays of numbers:
//
//	offset  bytes   content
//	0       6       \x93NUMPY
//	6       2       version, 1.0 to 3.0
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
	"errors"
	"fmt"
	"io"
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
var ErrFormat = errors.New("not an .npy file of numbers")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// Read reads an array of integers or floating-point numbers of at most 8 bytes, of
// either byte order, in C or Fortran order, without rounding; of an .npz file its
// only array. It refuses other types and shapes, truncated files, integers that
// float64 does not hold and values that are not finite. Errors name the file.
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
	var a Array[float64]
	if isArchive(head) {
		a, err = decodeArchive(f, stat.Size())
	} else {
		a, err = decode(r, stat.Size())
	}
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
	if len(h.shape) > 2 {
		return Array[float64]{}, formatError("%d dimensions, want one or two", len(h.shape))
	}
	if have, want := size-before, int64(h.elements)*int64(h.dtype.width); have != want {
		return Array[float64]{}, formatError("%d bytes of data, shape %v of %d-byte numbers needs %d: truncated or overlong", have, h.shape, h.dtype.width, want)
	}
	data := make([]float64, h.elements)
	buffer := make([]byte, h.dtype.width)
	for k := range data {
		if _, err := io.ReadFull(r, buffer); err != nil {
			return Array[float64]{}, fmt.Errorf("element %d: %w", k, err)
		}
		v, err := h.dtype.value(buffer)
		if err != nil {
			return Array[float64]{}, fmt.Errorf("element %d %w", k, err)
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
