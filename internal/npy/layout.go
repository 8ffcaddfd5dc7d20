package npy

import (
	"encoding/binary"
	"errors"
	"io"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

// Layout says where an .npy file with any number of dimensions has its elements.
type Layout struct {
	Shape  []int
	DType  string // NumPy's, such as <f4
	Float  bool
	Width  int // bytes of an element
	Order  binary.ByteOrder
	Offset int64 // of the first element
}

// ReadLayout reads and checks the header of a file of that many bytes, with its elements in C
// order.
func ReadLayout(r io.ReaderAt, size int64) (Layout, error) {
	head := make([]byte, min(size, int64(gitlfs.Head)))
	if _, err := r.ReadAt(head, 0); err != nil && !errors.Is(err, io.EOF) {
		return Layout{}, err
	}
	if err := gitlfs.Check(head); err != nil {
		return Layout{}, err
	}
	h, before, err := readHeader(io.NewSectionReader(r, 0, size), size)
	if err != nil {
		return Layout{}, err
	}
	if have, want := size-before, int64(h.elements)*int64(h.dtype.width); have != want {
		return Layout{}, formatError("%d bytes of data, shape %v of %d-byte numbers needs %d: truncated or overlong", have, h.shape, h.dtype.width, want)
	}
	if h.fortran && len(h.shape) > 1 {
		return Layout{}, formatError("its elements are in Fortran order: write numpy.ascontiguousarray(x)")
	}
	return Layout{h.shape, h.dtype.name, h.dtype.class == 'f', h.dtype.width, h.dtype.order, before}, nil
}

// Floats decodes floating-point elements, which may be not finite.
func (l Layout) Floats(dst []float64, raw []byte) {
	d := dtype{order: l.Order, class: 'f', width: l.Width}
	for i := range dst {
		b := raw[i*l.Width:][:l.Width]
		switch l.Width {
		case 2:
			dst[i] = d.float(uint64(l.Order.Uint16(b)))
		case 4:
			dst[i] = d.float(uint64(l.Order.Uint32(b)))
		default:
			dst[i] = d.float(l.Order.Uint64(b))
		}
	}
}
