package yamltext

import (
	"errors"
	"fmt"
	"reflect"

	"github.com/goccy/go-yaml"
)

// Plain replaces Go's types in an error of the YAML library by YAML's words, with the
// same position.
func Plain(err error) error {
	var typed *yaml.TypeError
	var overflow *yaml.OverflowError
	switch {
	case errors.As(err, &typed):
		return &yaml.SyntaxError{Message: fmt.Sprintf("%s instead of %s", given(typed.SrcType), Kind(typed.DstType)), Token: typed.Token}
	case errors.As(err, &overflow):
		return &yaml.SyntaxError{Message: fmt.Sprintf("%s is no %s in range", overflow.SrcNum, Kind(overflow.DstType)), Token: overflow.Token}
	}
	return err
}

// Kind names what a user writes for a value of a Go type.
func Kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Int, reflect.Int64, reflect.Int32:
		return "whole number"
	case reflect.Uint64, reflect.Uint32, reflect.Uint:
		return "whole number ≥ 0"
	case reflect.Float64, reflect.Float32:
		return "number"
	case reflect.Bool:
		return "boolean"
	case reflect.String:
		return "text"
	case reflect.Slice, reflect.Array:
		return "list"
	case reflect.Struct, reflect.Pointer, reflect.Map:
		return "section"
	}
	return t.String()
}

// given names the kind of what the user wrote.
func given(t reflect.Type) string {
	if t.Kind() >= reflect.Int && t.Kind() <= reflect.Float64 {
		return "number"
	}
	return Kind(t)
}
