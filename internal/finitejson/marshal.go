// Package finitejson writes JSON of values whose numbers may be not finite, which
// JSON has no numbers for: each becomes null, and a warning names it. Unmarshal
// reads such a null as NaN. Of finite values the text is encoding/json's, byte for
// byte.
package finitejson

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Marshal is json.MarshalIndent without prefix; an empty indent means one line. The
// warnings name numbers that are not finite, such as `rows[2].w2 is +Inf: null in
// JSON`. If the document is an object, its key "warnings" has them too: after the
// warnings that are there, if it is a slice of strings, or as its last key.
func Marshal(v any, indent string) (encoded []byte, warnings []string, err error) {
	encoded, err = json.Marshal(v)
	if unsupported := (*json.UnsupportedValueError)(nil); errors.As(err, &unsupported) {
		encoded, warnings, err = marshalHoles(v)
	}
	if err != nil || indent == "" {
		return encoded, warnings, err
	}
	var out bytes.Buffer
	if err := json.Indent(&out, encoded, "", indent); err != nil {
		return nil, nil, err
	}
	return out.Bytes(), warnings, nil
}

// Holes stand for numbers that are not finite, until the text is made. They are
// numbers that no computation gives, one for each width.
const (
	hole   = 2.7182818284590455e-301
	hole32 = 2.7182817e-37
)

// marshalHoles encodes a copy of a value with holes, and makes them null.
func marshalHoles(v any) ([]byte, []string, error) {
	var d digger
	document := addressable(reflect.ValueOf(v))
	d.dig(document, "", 0)
	added := d.addWarnings(document)
	encoded, err := json.Marshal(document.Interface())
	if err != nil {
		return nil, nil, err
	}
	encoded = fill(encoded)
	if !added && encoded[0] == '{' {
		list, err := json.Marshal(d.warnings)
		if err != nil {
			return nil, nil, err
		}
		encoded = slices.Concat(encoded[:len(encoded)-1], []byte(`,"warnings":`), list, []byte("}"))
	}
	return encoded, d.warnings, nil
}

// addressable is a shallow copy of a value, which can be set.
func addressable(v reflect.Value) reflect.Value {
	c := reflect.New(v.Type()).Elem()
	c.Set(v)
	return c
}

// digger puts holes into a value, and keeps what was there.
type digger struct{ warnings []string }

// maxDepth ends the descent into a value that contains itself. Encoding it fails.
const maxDepth = 100

// dig puts holes into what does not encode below v. It changes v alone: what v
// points to is copied.
func (d *digger) dig(v reflect.Value, path string, depth int) {
	if depth > maxDepth || !v.CanSet() && v.Kind() != reflect.Struct {
		return
	}
	if v.CanInterface() {
		if _, err := json.Marshal(v.Addr().Interface()); err == nil {
			return
		}
	}
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		d.warnings = append(d.warnings, fmt.Sprintf("%s is %v: null in JSON", cmp.Or(strings.TrimPrefix(path, "."), "the number"), v.Float()))
		v.SetFloat(hole)
		if v.Kind() == reflect.Float32 {
			v.SetFloat(hole32)
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			return
		}
		content := addressable(v.Elem())
		d.dig(content, path, depth+1)
		if v.Kind() == reflect.Pointer {
			content = content.Addr()
		}
		v.Set(content)
	case reflect.Slice:
		v.Set(reflect.AppendSlice(reflect.MakeSlice(v.Type(), 0, v.Len()), v))
		d.digElements(v, path, depth)
	case reflect.Array:
		d.digElements(v, path, depth)
	case reflect.Map:
		d.digMap(v, path, depth)
	case reflect.Struct:
		for i := range v.NumField() {
			if name, ok := fieldName(v.Type().Field(i)); ok {
				d.dig(v.Field(i), path+name, depth+1)
			}
		}
	}
}

func (d *digger) digElements(v reflect.Value, path string, depth int) {
	for i := range v.Len() {
		d.dig(v.Index(i), fmt.Sprintf("%s[%d]", path, i), depth+1)
	}
}

func (d *digger) digMap(v reflect.Value, path string, depth int) {
	keys := v.MapKeys()
	slices.SortFunc(keys, func(a, b reflect.Value) int { return strings.Compare(fmt.Sprint(a), fmt.Sprint(b)) })
	m := reflect.MakeMapWithSize(v.Type(), len(keys))
	for _, k := range keys {
		element := addressable(v.MapIndex(k))
		d.dig(element, fmt.Sprintf("%s.%v", path, k), depth+1)
		m.SetMapIndex(k, element)
	}
	v.Set(m)
}

// fieldName is the part of a path that stands for a field of a struct: none for an
// embedded struct. It is false for fields that JSON leaves out.
func fieldName(f reflect.StructField) (name string, ok bool) {
	tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
	switch {
	case tag == "-" || !f.IsExported() && !f.Anonymous:
		return "", false
	case tag != "":
		return "." + tag, true
	case f.Anonymous:
		return "", true
	}
	return "." + f.Name, true
}

// addWarnings appends the warnings to a document's own. It is true if the document
// is a struct with that key, or a map that has it.
func (d *digger) addWarnings(document reflect.Value) bool {
	for document.Kind() == reflect.Pointer || document.Kind() == reflect.Interface {
		document = document.Elem()
	}
	switch document.Kind() {
	case reflect.Map:
		return document.Type().Key().Kind() == reflect.String && document.MapIndex(reflect.ValueOf("warnings").Convert(document.Type().Key())).IsValid()
	case reflect.Struct:
		for i := range document.NumField() {
			if name, _ := fieldName(document.Type().Field(i)); name == ".warnings" {
				if list, ok := document.Field(i).Interface().([]string); ok {
					document.Field(i).Set(reflect.ValueOf(slices.Concat(list, d.warnings)))
				}
				return true
			}
		}
	}
	return false
}

// fill replaces holes in a JSON text by null.
func fill(encoded []byte) []byte {
	text := func(v any) []byte { b, _ := json.Marshal(v); return b }
	wide, narrow := text(float64(hole)), text(float32(hole32))
	out := make([]byte, 0, len(encoded))
	for len(encoded) > 0 {
		n := 1
		switch c := encoded[0]; {
		case c == '"':
			for ; encoded[n] != '"'; n++ {
				if encoded[n] == '\\' {
					n++
				}
			}
			n++
		case c == '-' || c >= '0' && c <= '9':
			for n < len(encoded) && strings.IndexByte("0123456789+-.eE", encoded[n]) >= 0 {
				n++
			}
		}
		token := encoded[:n]
		if bytes.Equal(token, wide) || bytes.Equal(token, narrow) {
			token = []byte("null")
		}
		out, encoded = append(out, token...), encoded[n:]
	}
	return out
}
