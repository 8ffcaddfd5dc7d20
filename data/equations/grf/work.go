package grf

import (
	"slices"
	"sync"

	"gonum.org/v1/gonum/dsp/fourier"
)

// planeWork is the work space of one draw. All planes share a pool of them, whatever their
// sizes, since a plane may be made for a single draw.
type planeWork struct {
	along, across *fourier.CmplxFFT
	row, columns  []complex128 // [mx] and [nx, my]
}

var planeWorks = sync.Pool{New: func() any {
	return &planeWork{along: fourier.NewCmplxFFT(1), across: fourier.NewCmplxFFT(1)}
}}

// borrow takes a work space and fits it to the plane.
func (f *Plane) borrow() *planeWork {
	w := planeWorks.Get().(*planeWork)
	if w.along.Len() != f.mx {
		w.along.Reset(f.mx)
	}
	if w.across.Len() != f.my {
		w.across.Reset(f.my)
	}
	w.row = slices.Grow(w.row[:0], f.mx)[:f.mx]
	w.columns = slices.Grow(w.columns[:0], f.nx*f.my)[:f.nx*f.my]
	return w
}
