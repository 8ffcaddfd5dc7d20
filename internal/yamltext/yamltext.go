// Package yamltext reads YAML strictly. Check refuses it before it reaches the parser:
// documents that are not text, that have tags (!name) or numbers with a 0 before them, or
// that are so large or so deeply nested that the parser would use too much memory, which
// grows with the square of the depth. Decode refuses unknown fields and numbers that do not
// fit. Plain says in YAML's words what is wrong.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/token"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

const (
	// MaxBytes bounds a document; real ones have hundreds of bytes.
	MaxBytes = 64 << 10
	// maxDepth bounds nested brackets and dashes in a line. Indentation needs no bound:
	// deep indentation exceeds MaxBytes.
	maxDepth = 64
)

// Check reports the first reason not to parse a document.
func Check(raw []byte) error {
	if len(raw) > MaxBytes {
		return fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	if err := gitlfs.Check(raw); err != nil {
		return err
	}
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	if !utf8.Valid(raw) || bytes.ContainsFunc(raw, control) {
		return errors.New("it is not text in UTF-8") // the parser's errors would print its bytes on a terminal
	}
	// The parser's own lexer tells brackets from quoted ones. Its time and memory are
	// linear in the text.
	brackets, dashes, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(raw)) {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
		case token.TagType: // the parser panics at one without a value where a list is due
			return fmt.Errorf("line %d: %.40s is a tag of YAML, which nothing here needs", line, t.Value)
		case token.OctetIntegerType:
			if !strings.ContainsAny(t.Value, "oO") && strings.Trim(t.Value, "+-0_") != "" { // 010 would be 8
				return fmt.Errorf("line %d: %.40s is octal in YAML: write it without the 0 before it", line, t.Value)
			}
		case token.SequenceStartType, token.MappingStartType:
			brackets++
		case token.SequenceEndType, token.MappingEndType:
			brackets = max(0, brackets-1)
		case token.SequenceEntryType, token.MappingKeyType:
			dashes++
		}
		if brackets+dashes > maxDepth {
			return fmt.Errorf("line %d: nested deeper than %d levels", line, maxDepth)
		}
	}
	return nil
}
