package yamltext

import (
	"errors"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

func TestPlain(t *testing.T) {
	for document, want := range map[string]string{
		"text: [a]":        "[1:7] list instead of text",
		"text: {a: 1}":     "[1:7] section instead of text",
		"\nnumber: [1]":    "[2:9] list instead of number",
		"number: many":     "[1:9] text instead of number",
		"whole: many":      "[1:8] text instead of whole number",
		"natural: -1":      "[1:10] -1 is no whole number ≥ 0 in range",
		"either: 3":        "[1:9] number instead of boolean",
		"laws: {a: [1]}":   "[1:11] list instead of text",
		"in: {number: []}": "[1:14] list instead of number",
		"in: [1]":          "[1:5] sequence was used where mapping is expected",
		"other: 1":         `[1:1] unknown field "other"`,
	} {
		var into struct {
			Text    string
			Number  float64
			Whole   int
			Natural uint64
			Either  bool
			Laws    map[string]string
			In      struct{ Number float64 }
		}
		err := Plain(yaml.UnmarshalWithOptions([]byte(document), &into, yaml.Strict()))
		if err == nil || !strings.HasPrefix(yaml.FormatError(err, false, false), want) {
			t.Errorf("%q: %v, want %s", document, err, want)
		}
	}
	if own := errors.New("own"); !errors.Is(Plain(own), own) || Plain(nil) != nil {
		t.Error("other errors are changed")
	}
}
