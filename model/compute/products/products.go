//go:build linux && cgo && amd64

// Package products multiplies matrices of bfloat16 inside XLA's programs for the processor.
//
// XLA's plugin for the processor has a fast kernel for some products of bfloat16 only; for the
// others it widens the factors and multiplies in float32. [Wrap] gives a backend whose programs
// call the kernel of this package instead (kernel.c), which is for processors with AVX512-BF16:
// a call costs a quarter of XLA's product in float32. XLA calls it by its interface for custom
// calls (handler.c), on its own threads.
package products

/*
#cgo CFLAGS: -O3 -Wall
#cgo LDFLAGS: -ldl
#include <stdlib.h>
#include "handler.h"
#include "kernel.h"
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
)

// Supported reports whether this processor has the instructions of the kernel.
func Supported() bool { return C.supported() != 0 }

// Wrap returns a backend like b, an [xla.Backend] for the processor whose plugin was loaded from
// path. In the main functions of its programs products of bfloat16 with a float32 result call
// this package's kernel, where [dimensions] can say how. The processor must be [Supported].
func Wrap(b compute.Backend, path string) (compute.Backend, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if failed := C.register_handler(name); failed != nil {
		return nil, fmt.Errorf("products of bfloat16: %s", C.GoString(failed))
	}
	return backend{b}, nil
}

type backend struct{ compute.Backend }

func (b backend) Builder(name string) compute.Builder {
	return builder{b.Backend.Builder(name)}
}

type builder struct{ compute.Builder }

func (b builder) Main() compute.Function { return function{b.Builder.Main()} }

type function struct{ compute.Function }

// DotGeneral calls the kernel of this package for the products that it can compute.
func (f function) DotGeneral(
	lhs compute.Value, lhsContracting, lhsBatch []int,
	rhs compute.Value, rhsContracting, rhsBatch []int,
	config compute.DotGeneralConfig,
) (compute.Value, error) {
	library := func() (compute.Value, error) {
		return f.Function.DotGeneral(lhs, lhsContracting, lhsBatch, rhs, rhsContracting, rhsBatch, config)
	}
	inner, ok := f.Function.(*xla.Function)
	if !ok || len(lhsBatch) > 0 || config.OutputDType != dtypes.Float32 || config.AccumulatorDType != dtypes.InvalidDType {
		return library()
	}
	a, errA := f.Shape(lhs)
	b, errB := f.Shape(rhs)
	if err := errors.Join(errA, errB); err != nil {
		return nil, err
	}
	if a.DType != dtypes.BFloat16 || b.DType != dtypes.BFloat16 {
		return library()
	}
	p, ok := matrices(a.Dimensions, lhsContracting, b.Dimensions, rhsContracting)
	if !ok {
		return library()
	}
	return call(inner, lhs, rhs, p)
}

// product is the product of two arrays as one of matrices.
type product struct {
	m, k, n                  int // [m, k] by [k, n]
	transposedA, transposedB bool
	result                   []int // dimensions of the result
}

// matrices views the arrays as matrices: their contracted axes, in the same order, must be their
// first or their last ones.
func matrices(a, contractedA, b, contractedB []int) (p product, ok bool) {
	lastA, okA := end(contractedA, len(a))
	lastB, okB := end(contractedB, len(b))
	if !okA || !okB {
		return product{}, false
	}
	c := len(contractedA)
	freeA, sums, freeB := a[c:], a[:c], b[c:]
	if lastA {
		freeA, sums = a[:len(a)-c], a[len(a)-c:]
	}
	if lastB {
		freeB = b[:len(b)-c]
	}
	return product{
		m: size(freeA), k: size(sums), n: size(freeB),
		transposedA: !lastA, transposedB: lastB,
		result: slices.Concat(freeA, freeB),
	}, true
}

// end reports whether the axes are, in order, the last ones of rank axes; ok: or the first.
func end(axes []int, rank int) (last, ok bool) {
	if len(axes) == 0 || len(axes) == rank {
		return false, false
	}
	first := axes[0]
	for i, axis := range axes {
		if axis != first+i {
			return false, false
		}
	}
	last = first == rank-len(axes)
	return last, last || first == 0
}

func size(dimensions []int) int {
	return shapes.Make(dtypes.Float32, dimensions...).Size()
}
