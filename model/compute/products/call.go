//go:build linux && cgo && amd64

package products

// #include "handler.h"
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
)

// typedCall is the version of XLA's interface for custom calls for which the plugin for the
// processor registers handlers.
const typedCall = int32(4) // API_VERSION_TYPED_FFI

// customCall adds a call of a kernel to a program. All arrays are row by row.
//
// The graph library has custom calls for its own use alone, and of an older version of XLA's
// interface. So this reaches for two of its internals: the method below, whose name the linker
// checks, and the field in program, which the tests check.
func customCall(f function, p product, results []shapes.Shape, arguments ...compute.Value) ([]compute.Value, error) {
	inner, ok := f.Function.(*xla.Function)
	if !ok {
		return nil, fmt.Errorf("products: %T is no function of XLA", f.Function)
	}
	values, err := libraryCall(inner, C.TARGET_NAME, "", make([][]int, len(arguments)), results, make([][]int, len(results)), arguments...)
	if err != nil {
		return nil, err
	}
	statements := program(inner).Statements
	written := statements[len(statements)-1].Attributes
	if written["call_target_name"] != C.TARGET_NAME {
		return nil, fmt.Errorf("products: the last statement of the program calls %v", written["call_target_name"])
	}
	written["api_version"] = typedCall
	written["backend_config"] = literal(p.attributes())
	return values, nil
}

//go:linkname libraryCall github.com/gomlx/go-xla/compute/xla.(*Function).customCall
func libraryCall(f *xla.Function, target, config string, argumentLayouts [][]int,
	results []shapes.Shape, resultLayouts [][]int, arguments ...compute.Value) ([]compute.Value, error)

// program is the text of a function, as far as it has been built.
func program(f *xla.Function) *stablehlo.Function {
	field := reflect.ValueOf(f).Elem().FieldByName("fn")
	return *(**stablehlo.Function)(unsafe.Pointer(field.UnsafeAddr()))
}

// literal is an attribute in the text of a program.
type literal string

// ToStableHLO is how the library asks for the text.
func (l literal) ToStableHLO() string { return string(l) }
