package finitejson

import (
	"bytes"
	"encoding/json"
	"math"
	"reflect"
	"strings"
)

// Unmarshal is json.Unmarshal, but null in place of a number of floating point is
// NaN. encoding/json leaves the number as it was, which is 0 in most places.
func Unmarshal(encoded []byte, v any) error {
	if err := json.Unmarshal(encoded, v); err != nil || !bytes.Contains(encoded, []byte("null")) {
		return err
	}
	var document any
	if err := json.Unmarshal(encoded, &document); err != nil {
		return err
	}
	mark(reflect.ValueOf(v), document)
	return nil
}

var unmarshaler = reflect.TypeFor[json.Unmarshaler]()

// mark sets v to NaN wherever it is a number and the document has null.
func mark(v reflect.Value, document any) {
	if v.Kind() == reflect.Pointer {
		if !v.IsNil() {
			mark(v.Elem(), document)
		}
		return
	}
	if !v.CanAddr() || v.Addr().Type().Implements(unmarshaler) {
		return
	}
	switch content := document.(type) {
	case nil:
		if v.CanFloat() {
			v.SetFloat(math.NaN())
		}
	case []any:
		if v.Kind() == reflect.Slice || v.Kind() == reflect.Array {
			for i := range min(v.Len(), len(content)) {
				mark(v.Index(i), content[i])
			}
		}
	case map[string]any:
		markObject(v, content)
	}
}

func markObject(v reflect.Value, object map[string]any) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			name, ok := fieldName(v.Type().Field(i))
			if !ok {
				continue
			}
			if name == "" {
				mark(v.Field(i), object)
			} else if content, ok := object[strings.TrimPrefix(name, ".")]; ok {
				mark(v.Field(i), content)
			}
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			if content, ok := object[k.String()]; ok {
				element := addressable(v.MapIndex(k))
				mark(element, content)
				v.SetMapIndex(k, element)
			}
		}
	}
}
