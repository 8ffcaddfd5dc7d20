package registry

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/ergoflow/ergoflow"
)

// A version is two records, and a configuration that it may share with others (details.go).
// Its outline is what List shows, so that a list of ten thousand takes milliseconds, which JSON would
// not: 8 bytes of SHA-256 of the rest, and a message of Protocol Buffers
//
//	1 created, ms since 1970   2 step   3 parent   4 pinned   5 decision
//	6 weights: SHA-256         7 weights: bytes   10 weights: object
//	8 metric, repeated: 1 name, 2 value, 3 low, 4 high, 5 level (2 to 5 doubles), 6 functions
//	9 tag, repeated: 1 key, 2 value
//
// whose fields of value zero may be left out, and whose unknown fields are skipped.

// outline encodes what List shows of v.
func (v Version) outline() []byte {
	sum, _ := hex.DecodeString(v.Weights.SHA256) // checked before
	b := make([]byte, sealSize, 512)
	b = appendNumber(b, 1, uint64(v.Created.UnixMilli()))
	b = appendNumber(b, 2, uint64(v.Step))
	b = appendNumber(b, 3, uint64(v.Parent))
	if v.Pinned {
		b = appendNumber(b, 4, 1)
	}
	b = appendText(b, 5, v.Decision)
	b = appendText(b, 6, string(sum))
	b = appendNumber(b, 7, uint64(v.Weights.Bytes))
	if v.Weights.Object != "" {
		b = appendText(b, 10, v.Weights.Object)
	}
	for _, name := range slices.Sorted(maps.Keys(v.Metrics)) {
		m := v.Metrics[name]
		inner := appendText(nil, 1, name)
		for i, x := range []float64{m.Value, m.Low, m.High, m.Level} {
			inner = protowire.AppendTag(inner, protowire.Number(2+i), protowire.Fixed64Type)
			inner = protowire.AppendFixed64(inner, math.Float64bits(x))
		}
		b = appendText(b, 8, string(appendNumber(inner, 6, uint64(m.Functions))))
	}
	for _, key := range slices.Sorted(maps.Keys(v.Tags)) {
		b = appendText(b, 9, string(appendText(appendText(nil, 1, key), 2, v.Tags[key])))
	}
	copy(b, seal(b[sealSize:]))
	return b
}

const sealSize = 8

func seal(message []byte) []byte {
	sum := sha256.Sum256(message)
	return sum[:sealSize]
}

func appendNumber(b []byte, field protowire.Number, x uint64) []byte {
	return protowire.AppendVarint(protowire.AppendTag(b, field, protowire.VarintType), x)
}

func appendText(b []byte, field protowire.Number, s string) []byte {
	return protowire.AppendString(protowire.AppendTag(b, field, protowire.BytesType), s)
}

// readOutline is the inverse of outline. Its errors are ErrCorrupt.
func readOutline(record []byte) (v Version, err error) {
	if len(record) < sealSize || string(record[:sealSize]) != string(seal(record[sealSize:])) {
		return v, corrupt("an outline does not have its checksum")
	}
	v.Metrics = make(map[string]Metric)
	err = fields(record[sealSize:], func(field protowire.Number, x uint64, text []byte) error {
		switch field {
		case 1:
			v.Created = time.UnixMilli(int64(x)).UTC()
		case 2:
			v.Step = ergoflow.Step(x)
		case 3:
			v.Parent = int(x)
		case 4:
			v.Pinned = x != 0
		case 5:
			v.Decision = string(text)
		case 6:
			v.Weights.SHA256 = hex.EncodeToString(text)
		case 7:
			v.Weights.Bytes = int64(x)
		case 10:
			v.Weights.Object = string(text)
		case 8:
			name, m, err := readMetric(text)
			v.Metrics[name] = m
			return err
		case 9:
			var tag [3]string // by field
			err := fields(text, func(field protowire.Number, _ uint64, text []byte) error {
				tag[min(field, 2)] = string(text)
				return nil
			})
			if v.Tags == nil {
				v.Tags = make(map[string]string)
			}
			v.Tags[tag[1]] = tag[2]
			return err
		}
		return nil
	})
	return v, err
}

func readMetric(message []byte) (name string, m Metric, err error) {
	err = fields(message, func(field protowire.Number, x uint64, text []byte) error {
		switch field {
		case 1:
			name = string(text)
		case 2:
			m.Value = math.Float64frombits(x)
		case 3:
			m.Low = math.Float64frombits(x)
		case 4:
			m.High = math.Float64frombits(x)
		case 5:
			m.Level = math.Float64frombits(x)
		case 6:
			m.Functions = int(x)
		}
		return nil
	})
	return name, m, err
}

// fields calls each for every field of a message: with x for numbers, and with text for
// the others.
func fields(message []byte, each func(field protowire.Number, x uint64, text []byte) error) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		message = message[n:]
		var x uint64
		var text []byte
		switch kind {
		case protowire.VarintType:
			x, n = protowire.ConsumeVarint(message)
		case protowire.Fixed64Type:
			x, n = protowire.ConsumeFixed64(message)
		case protowire.BytesType:
			text, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return fmt.Errorf("%w: %w", ErrCorrupt, protowire.ParseError(n))
		}
		message = message[n:]
		if err := each(field, x, text); err != nil {
			return err
		}
	}
	return nil
}

// version reads a version as List gives it, without its aliases.
func (s shelf) version(n int) (v Version, err error) {
	record := s.in(bucketVersions).Get(key(n))
	if record == nil {
		return v, fmt.Errorf("version %s@%d %w; %s", s.model, n, ErrNotFound, s.span())
	}
	if v, err = readOutline(record); err != nil {
		err = fmt.Errorf("version %s@%d: %w", s.model, n, err)
	}
	v.Model, v.Number = s.model, n
	return v, err
}
