package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"unicode/utf8"

	"github.com/ergoflow/ergoflow/internal/gitlfs"
)

const (
	maxHeader   = 100_000_000 // bytes; the reference implementation's bound
	alignment   = 8           // of the first tensor
	metadataKey = "__metadata__"
)

// ErrFormat marks data that is not a valid safetensors file.
var ErrFormat = errors.New("not a valid safetensors file")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: "+format, append([]any{ErrFormat}, args...)...)
}

// entry is a tensor's place in the header.
type entry struct {
	DType   DType    `json:"dtype"`
	Shape   []uint64 `json:"shape"`
	Offsets []uint64 `json:"data_offsets"`
}

// encodeHeader returns length, JSON and padding for tensors that follow one
// another in the given order, and the number of data bytes after it.
func encodeHeader(tensors []Info, metadata map[string]string) (header []byte, data int, err error) {
	var b bytes.Buffer
	b.Write(make([]byte, 8))
	b.WriteByte('{')
	put := func(name string, value any) error {
		if b.Len() > 9 {
			b.WriteByte(',')
		}
		for i, v := range []any{name, value} {
			j, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if i == 1 {
				b.WriteByte(':')
			}
			b.Write(j)
		}
		return nil
	}
	if len(metadata) > 0 {
		if err := put(metadataKey, metadata); err != nil { // json sorts the keys
			return nil, 0, err
		}
	}
	seen := make(map[string]bool, len(tensors))
	for _, t := range tensors {
		if t.Name == metadataKey || seen[t.Name] || !utf8.ValidString(t.Name) {
			return nil, 0, fmt.Errorf("tensor name %q is reserved, used twice or not UTF-8", t.Name)
		}
		seen[t.Name] = true
		size, err := t.Bytes()
		if err != nil {
			return nil, 0, err
		}
		end := data + size
		if end < data {
			return nil, 0, fmt.Errorf("tensor %q: the file's size overflows", t.Name)
		}
		shape := make([]uint64, len(t.Shape))
		for i, d := range t.Shape {
			shape[i] = uint64(d)
		}
		if err := put(t.Name, entry{t.DType, shape, []uint64{uint64(data), uint64(end)}}); err != nil {
			return nil, 0, err
		}
		data = end
	}
	b.WriteByte('}')
	for b.Len()%alignment != 0 {
		b.WriteByte(' ')
	}
	header = b.Bytes()
	n := len(header) - 8
	if n > maxHeader {
		return nil, 0, fmt.Errorf("header of %d bytes is longer than %d", n, maxHeader)
	}
	binary.LittleEndian.PutUint64(header, uint64(n))
	return header, data, nil
}

// split parts a whole file into its header's JSON and its data.
func split(file []byte) (header, data []byte, err error) {
	if len(file) < 8 {
		return nil, nil, formatError("%d bytes are too few", len(file))
	}
	if err := gitlfs.Check(file); err != nil {
		return nil, nil, formatError("%w", err)
	}
	n := binary.LittleEndian.Uint64(file)
	if n > maxHeader {
		return nil, nil, formatError("header of %d bytes is longer than %d", n, maxHeader)
	}
	if n > uint64(len(file)-8) {
		return nil, nil, formatError("header of %d bytes, but only %d follow", n, len(file)-8)
	}
	return file[8 : 8+n], file[8+n:], nil
}

// Place declares a tensor and says where its bytes are in the data.
type Place struct {
	Info
	start, end uint64
}

// parse checks a header against that many bytes of data and returns the tensors in the order
// of their places.
func parse(header []byte, size uint64) ([]Place, map[string]string, error) {
	if len(header) == 0 || header[0] != '{' || !utf8.Valid(header) {
		return nil, nil, formatError("the header is no JSON object")
	}
	d := json.NewDecoder(bytes.NewReader(header))
	d.DisallowUnknownFields()
	if _, err := d.Token(); err != nil { // the brace checked above
		return nil, nil, formatError("header: %w", err)
	}
	var (
		found    []Place
		metadata map[string]string
		seen     = map[string]bool{}
	)
	for d.More() {
		token, err := d.Token()
		if err != nil {
			return nil, nil, formatError("header: %w", err)
		}
		name, ok := token.(string)
		if !ok {
			return nil, nil, formatError("header: %v where a name should be", token)
		}
		if seen[name] {
			return nil, nil, formatError("the name %q occurs twice", name)
		}
		seen[name] = true
		if name == metadataKey {
			if err := d.Decode(&metadata); err != nil {
				return nil, nil, formatError("%s: %w", metadataKey, err)
			}
			continue
		}
		var e entry
		if err := d.Decode(&e); err != nil {
			return nil, nil, formatError("tensor %q: %w", name, err)
		}
		info, err := e.info(name)
		if err != nil {
			return nil, nil, err
		}
		found = append(found, Place{info, e.Offsets[0], e.Offsets[1]})
	}
	if _, err := d.Token(); err != nil { // the closing brace
		return nil, nil, formatError("header: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, formatError("something follows the header's object")
	}

	// By place; an empty tensor before the one that begins where it does.
	slices.SortStableFunc(found, func(a, b Place) int {
		if a.start != b.start {
			return cmp.Compare(a.start, b.start)
		}
		return cmp.Compare(a.end, b.end)
	})
	at := uint64(0)
	for _, p := range found {
		if p.start != at {
			return nil, nil, formatError("tensor %q begins at byte %d, not at %d where the one before it ends", p.Name, p.start, at)
		}
		if p.end > size {
			return nil, nil, formatError("tensor %q ends at byte %d of %d: the file is truncated", p.Name, p.end, size)
		}
		at = p.end
	}
	if at != size {
		return nil, nil, formatError("%d bytes of data belong to no tensor", size-at)
	}
	return found, metadata, nil
}

// info checks the entry within itself.
func (e entry) info(name string) (Info, error) {
	if e.Shape == nil || len(e.Offsets) != 2 {
		return Info{}, formatError("tensor %q: shape or data_offsets missing", name)
	}
	shape := make([]int, len(e.Shape))
	for i, s := range e.Shape {
		if s > maxInt {
			return Info{}, formatError("tensor %q: shape %v overflows", name, e.Shape)
		}
		shape[i] = int(s)
	}
	info := Info{name, e.DType, shape}
	size, err := info.Bytes()
	if err != nil {
		return Info{}, formatError("%w", err)
	}
	start, end := e.Offsets[0], e.Offsets[1]
	if end < start || end-start != uint64(size) {
		return Info{}, formatError("tensor %q: offsets %v do not hold %d bytes", name, e.Offsets, size)
	}
	return info, nil
}
