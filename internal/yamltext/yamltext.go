// Package yamltext refuses YAML that must not reach the parser: what is no text,
// and what is so large or so deeply nested that the parser would take all memory,
// of which it needs as much as the square of the depth.
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
)

const (
	// MaxBytes of a document; real ones have hundreds.
	MaxBytes = 64 << 10
	// maxDepth of brackets within brackets and of dashes in a line. Indentation needs
	// no bound of its own: it takes more bytes than MaxBytes to go deep.
	maxDepth = 64
)

// Check reports the first thing that makes a document unfit to be parsed.
func Check(raw []byte) error {
	if len(raw) > MaxBytes {
		return fmt.Errorf("it has more than %d bytes", MaxBytes)
	}
	control := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune("\t\n\r", r) }
	if !utf8.Valid(raw) || bytes.ContainsFunc(raw, control) {
		return errors.New("it is no text in UTF-8") // errors would show its bytes on a terminal
	}
	// The parser's own lexer says what is a bracket and what a quoted one. Its time
	// and memory are those of the text's length.
	brackets, dashes, line := 0, 0, 0
	for _, t := range lexer.Tokenize(string(raw)) {
		if t.Position.Line != line {
			dashes, line = 0, t.Position.Line
		}
		switch t.Type {
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
