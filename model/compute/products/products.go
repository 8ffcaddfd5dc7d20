//go:build linux && cgo && amd64

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
	"strings"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/notimplemented"
	"github.com/gomlx/compute/shapes"
)

// Supported reports whether this processor has the instructions of the kernels.
func Supported() bool { return C.supported() != 0 }

// Wrap returns a backend like b, an [xla.Backend] for the processor whose plugin was loaded from
// path. In the main functions of its programs products of bfloat16 with a float32 result call
// this package's kernel, where [matrices] can say how; [Available] is true. Its programs have no
// other functions than main and kernels. The processor must be [Supported].
func Wrap(b compute.Backend, path string) (compute.Backend, error) {
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	if failed := C.register_handler(name); failed != nil {
		return nil, fmt.Errorf("products of bfloat16: %s", C.GoString(failed))
	}
	return backend{b}, nil
}

type backend struct{ compute.Backend }

func (b backend) callsKernels() {}

func (b backend) Builder(name string) compute.Builder {
	return builder{b.Backend.Builder(name)}
}

type builder struct{ compute.Builder }

func (b builder) Main() compute.Function { return function{b.Builder.Main()} }

// NewFunction returns the name of a kernel, see call in graph.go.
func (b builder) NewFunction(name string) (compute.Function, error) { return &kernel{name: name}, nil }

// OpShape of a parameter of a kernel is the parameter itself.
func (b builder) OpShape(v compute.Value) (shapes.Shape, error) {
	if s, ok := v.(shapes.Shape); ok {
		return s, nil
	}
	return b.Builder.OpShape(v)
}

// kernel stands for a kernel where the graph library expects a function. Its parameters are their
// shapes.
type kernel struct {
	notimplemented.Function
	name string
}

func (k *kernel) Name() string             { return k.name }
func (k *kernel) Parent() compute.Function { return nil }
func (k *kernel) Parameter(_ string, s shapes.Shape, _ *compute.ShardingSpec) (compute.Value, error) {
	return s, nil
}
func (k *kernel) Return([]compute.Value, []*compute.ShardingSpec) error { return nil }

type function struct{ compute.Function }

// Call calls a kernel.
func (f function) Call(called compute.Function, arguments ...compute.Value) ([]compute.Value, error) {
	given := make([]shapes.Shape, len(arguments))
	for i, a := range arguments {
		var err error
		if given[i], err = f.Shape(a); err != nil {
			return nil, err
		}
	}
	var s signature
	if _, err := fmt.Sscanf(called.Name(), "%s %d %d %d %d", &s.kernel, &s.call, &s.window, &s.steps, &s.repeat); err != nil {
		return nil, fmt.Errorf("products: no kernel %q: %w", called.Name(), err)
	}
	// size is axis i of argument a; 0 where there is none.
	size := func(a, i int) int {
		if a < len(given) && i < given[a].Rank() {
			return given[a].Dimensions[i]
		}
		return 0
	}
	p := product{m: size(0, 0), k: s.window * size(0, 1), n: size(1, 1), window: s.window, steps: s.steps, repeat: s.repeat}
	x, w := bfloat16s(p.m, size(0, 1)), bfloat16s(p.k, p.n)
	var want, results []shapes.Shape // of arguments and results
	switch s.kernel {
	case layer:
		p.role = C.LAYER
		want = []shapes.Shape{x, w, float32s(p.n)}
		results = []shapes.Shape{p.blocks(), bfloat16s(p.m, p.n)}
	case layerGradient:
		p.role, p.n, p.transposedB = C.LAYER_GRADIENT, size(1, 0), true
		want = []shapes.Shape{x, bfloat16s(p.n, p.k), p.blocks()}
		results = []shapes.Shape{bfloat16s(p.m, p.n), float32s(p.n)}
	case geluGradient:
		p.role, p.k, p.n = C.GELU_GRADIENT, 0, size(0, 1)
		want = []shapes.Shape{float32s(p.m, p.n), p.blocks()}
		results = []shapes.Shape{bfloat16s(p.m, p.n), float32s(p.n)}
	case normLayer:
		p.role = C.NORM_LAYER
		want = []shapes.Shape{x, w, float32s(p.n), float32s(p.n), float32s(p.n)}
		results = []shapes.Shape{p.blocks(), bfloat16s(p.m, p.n), float32s(p.m)}
	case normMean:
		p.role = C.NORM_MEAN
		want = []shapes.Shape{x, w, float32s(p.n), float32s(p.n), float32s(p.n)}
		results = []shapes.Shape{p.blocks(), float32s(p.m/s.repeat, p.n), float32s(p.m)}
	case normLayerGradient:
		p.role = C.NORM_LAYER_GRADIENT
		want = []shapes.Shape{x, w, p.blocks(), float32s(p.m), float32s(p.n), float32s(p.n)}
		results = []shapes.Shape{bfloat16s(p.m, p.n), float32s(3, p.n)}
	case normGradient:
		p.role, p.m, p.k, p.n = C.NORM_GRADIENT, size(0, 0)*s.repeat, 0, size(0, 1)
		want = []shapes.Shape{float32s(size(0, 0), p.n), p.blocks(), float32s(p.m), float32s(p.n), float32s(p.n)}
		results = []shapes.Shape{bfloat16s(p.m, p.n), float32s(3, p.n)}
	case convolve:
		p.role = C.PRODUCT
		want = []shapes.Shape{x, w}
		results = []shapes.Shape{float32s(p.m, p.n)}
	case convolutionGradient:
		p.role, p.m, p.k, p.transposedA = C.PRODUCT, s.window*size(0, 1), size(0, 0), true
		want = []shapes.Shape{x, bfloat16s(p.k, p.n)}
		results = []shapes.Shape{float32s(p.m, p.n)}
	default:
		return nil, fmt.Errorf("products: no kernel %q", s.kernel)
	}
	if s.window > 1 && (s.window%2 == 0 || size(0, 1)%16 != 0 || size(0, 0)%s.steps != 0) {
		return nil, fmt.Errorf("products: a window of %d rows of %d numbers, over %d rows in sequences of %d", s.window, size(0, 1), size(0, 0), s.steps)
	}
	if p.m%s.repeat != 0 {
		return nil, fmt.Errorf("products: means over %d of %d rows", s.repeat, p.m)
	}
	if !slices.EqualFunc(given, want, shapes.Shape.Equal) {
		return nil, fmt.Errorf("products: %s of %v, want %v", s.kernel, given, want)
	}
	return customCall(f, p, results, arguments...)
}

// blocks is the shape of the y of a layer.
func (p product) blocks() shapes.Shape {
	return bfloat16s(int(C.blocks_size(C.int64_t(p.m), C.int64_t(p.n))))
}

// DotGeneral calls the kernel of this package for the products that it can compute.
func (f function) DotGeneral(
	lhs compute.Value, lhsContracting, lhsBatch []int,
	rhs compute.Value, rhsContracting, rhsBatch []int,
	config compute.DotGeneralConfig,
) (compute.Value, error) {
	library := func() (compute.Value, error) {
		return f.Function.DotGeneral(lhs, lhsContracting, lhsBatch, rhs, rhsContracting, rhsBatch, config)
	}
	if len(lhsBatch) > 0 || config.OutputDType != dtypes.Float32 || config.AccumulatorDType != dtypes.InvalidDType {
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
	results, err := customCall(f, p, []shapes.Shape{float32s(p.result...)}, lhs, rhs)
	if err != nil {
		return nil, err
	}
	return results[0], nil
}

// product is the product of two arrays as one of matrices.
type product struct {
	role                     int // of handler.h
	m, k, n                  int // [m, k] by [k, n]
	transposedA, transposedB bool
	window, steps, repeat    int   // see kernel.h
	result                   []int // dimensions of the result
}

// attributes are those of a custom call, as handler.c reads them.
func (p product) attributes() string {
	var b strings.Builder
	for _, a := range []struct {
		name  string
		value int
	}{
		{"role", p.role}, {"m", p.m}, {"k", p.k}, {"n", p.n}, {"transposed_a", number(p.transposedA)}, {"transposed_b", number(p.transposedB)},
		{"window", p.window}, {"steps", p.steps}, {"repeat", p.repeat},
	} {
		fmt.Fprintf(&b, ", %s = %d : i64", a.name, a.value)
	}
	return "{" + b.String()[2:] + "}"
}

func number(b bool) int {
	if b {
		return 1
	}
	return 0
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
		window: 1, steps: 1, repeat: 1,
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

func size(dimensions []int) int { return float32s(dimensions...).Size() }
