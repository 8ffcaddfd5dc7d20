//go:build linux && cgo && amd64

package products

import (
	"fmt"
	"reflect"
	"unsafe"

	"github.com/gomlx/compute"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/go-xla/compute/xla"
	"github.com/gomlx/go-xla/stablehlo"
)

/*
#include "handler.h"
*/
import "C"

// typedCall is the version of XLA's interface for custom calls that the plugin for the processor
// lets programs register.
const typedCall = int32(4) // API_VERSION_TYPED_FFI

// call adds a custom call of the kernel to a program.
//
// The graph library has custom calls for its own use only, and of an older version of XLA's
// interface. So this reaches for two of its internals; that they have not changed is tested, and
// the linker sees whether customCall is there.
func call(f *xla.Function, a, b compute.Value, p product) (compute.Value, error) {
	rowMajor := [][]int{nil, nil}
	results, err := customCall(f, C.TARGET_NAME, "", rowMajor, []shapes.Shape{shapes.Make(dtypes.Float32, p.result...)}, rowMajor[:1], a, b)
	if err != nil {
		return nil, err
	}
	statements := program(f).Statements
	attributes := statements[len(statements)-1].Attributes
	if attributes["call_target_name"] != C.TARGET_NAME {
		return nil, fmt.Errorf("products: the last statement of the program calls %v", attributes["call_target_name"])
	}
	attributes["api_version"] = typedCall
	attributes["backend_config"] = literal(fmt.Sprintf("{m = %d : i64, k = %d : i64, n = %d : i64, transposed_a = %d : i64, transposed_b = %d : i64}",
		p.m, p.k, p.n, number(p.transposedA), number(p.transposedB)))
	return results[0], nil
}

//go:linkname customCall github.com/gomlx/go-xla/compute/xla.(*Function).customCall
func customCall(f *xla.Function, target, config string, operandLayouts [][]int,
	results []shapes.Shape, resultLayouts [][]int, operands ...compute.Value) ([]compute.Value, error)

// program is the text of a function, as far as it has been built.
func program(f *xla.Function) *stablehlo.Function {
	field := reflect.ValueOf(f).Elem().FieldByName("fn")
	return *(**stablehlo.Function)(unsafe.Pointer(field.UnsafeAddr()))
}

// literal is an attribute in the text of a program.
type literal string

// ToStableHLO is how the library asks for the text.
func (l literal) ToStableHLO() string { return string(l) }

func number(b bool) int {
	if b {
		return 1
	}
	return 0
}
