package yamltext

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// Decode applies YAML to *dst. Fields that the YAML does not mention keep their values; fields
// that dst does not have are errors. Integer fields refuse fractions and numbers that do not
// fit, which the YAML library would silently change. A document without content changes
// nothing. The text must have passed Check.
func Decode(raw []byte, dst any) error {
	file, err := parser.ParseBytes(raw, 0)
	if err != nil {
		return err
	}
	if len(file.Docs) > 1 {
		return fmt.Errorf("%d documents, want one", len(file.Docs))
	}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil || file.Docs[0].Body.Type() == ast.CommentType {
		return nil
	}
	body := file.Docs[0].Body
	if err := wholeNumbers(body, reflect.TypeOf(dst).Elem()); err != nil {
		return err
	}
	// The YAML library decodes into a copy of a nil section, which is lost, and refuses to
	// decode into a section that is not nil.
	if section := reflect.ValueOf(dst).Elem(); section.Kind() == reflect.Pointer {
		if body.Type() == ast.NullType {
			section.SetZero()
			return nil
		}
		if section.IsNil() {
			section.Set(reflect.New(section.Type().Elem()))
		}
		dst = section.Interface()
	}
	return yaml.UnmarshalWithOptions(raw, dst, yaml.Strict())
}

// wholeNumbers reports the first scalar of an integer field that is not whole or is too
// large. The decoder reports scalars that are not numbers.
func wholeNumbers(n ast.Node, t reflect.Type) error {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch n := n.(type) {
	case *ast.AnchorNode:
		return wholeNumbers(n.Value, t)
	case *ast.TagNode:
		return wholeNumbers(n.Value, t)
	case *ast.MappingValueNode:
		return wholeNumbersOfField(n, t)
	case *ast.MappingNode:
		for _, entry := range n.Values {
			if err := wholeNumbersOfField(entry, t); err != nil {
				return err
			}
		}
	case *ast.SequenceNode:
		if t.Kind() != reflect.Slice && t.Kind() != reflect.Array {
			return nil
		}
		for _, v := range n.Values {
			if err := wholeNumbers(v, t.Elem()); err != nil {
				return err
			}
		}
	case *ast.FloatNode, *ast.StringNode:
		if !isInteger(t) {
			return nil
		}
		text := n.GetToken().Value
		v, err := strconv.ParseFloat(text, 64)
		bits := t.Bits()
		if t.Kind() < reflect.Uint {
			bits--
		}
		switch {
		case errors.Is(err, strconv.ErrSyntax):
		case v != math.Trunc(v):
			return &yaml.SyntaxError{Message: text + " is not a whole number", Token: n.GetToken()}
		case math.Abs(v) >= math.Ldexp(1, bits):
			return &yaml.SyntaxError{Message: text + " is too large", Token: n.GetToken()}
		}
	}
	return nil
}

func wholeNumbersOfField(entry *ast.MappingValueNode, t reflect.Type) error {
	if t.Kind() != reflect.Struct {
		return nil
	}
	for i := range t.NumField() {
		if Name(t.Field(i)) == entry.Key.GetToken().Value {
			return wholeNumbers(entry.Value, t.Field(i).Type)
		}
	}
	return nil
}

func isInteger(t reflect.Type) bool {
	return t.Kind() >= reflect.Int && t.Kind() <= reflect.Uint64
}

// Name is what YAML calls a field of a struct; empty or "-" where it has no name.
func Name(f reflect.StructField) string {
	name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
	return name
}
