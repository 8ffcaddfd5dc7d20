package wire_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/coordinator/wire"
	"github.com/ergoflow/ergoflow/coordinator/wire/wiretest"
)

func header(size int64, sum []byte) *wire.CheckpointHeader {
	return &wire.CheckpointHeader{Run: "r", Size: size, Sha256: sum}
}

func data(b string) *wire.CheckpointPart {
	return &wire.CheckpointPart{Part: &wire.CheckpointPart_Data{Data: []byte(b)}}
}

func TestReadCheckpoint(t *testing.T) {
	sum := sha256.Sum256([]byte("state"))
	good := header(5, sum[:])
	second := &wire.CheckpointPart{Part: &wire.CheckpointPart_Header{Header: good}}
	broken := errors.New("the stream broke")
	for name, c := range map[string]struct {
		header *wire.CheckpointHeader
		parts  []*wire.CheckpointPart
		end    error
		want   string // part of the error; empty: none
	}{
		"whole":            {good, []*wire.CheckpointPart{data("sta"), data("te")}, io.EOF, ""},
		"no header":        {nil, nil, io.EOF, "begin with its header"},
		"nothing":          {header(0, sum[:]), nil, io.EOF, "0 bytes are not"},
		"less than that":   {header(-1, sum[:]), nil, io.EOF, "-1 bytes are not"},
		"too much":         {header(ergoflow.MaxState+1, sum[:]), nil, io.EOF, "bytes are not"},
		"no hash":          {header(5, nil), []*wire.CheckpointPart{data("state")}, io.EOF, "no SHA-256"},
		"another hash":     {header(5, make([]byte, 32)), []*wire.CheckpointPart{data("state")}, io.EOF, "announced was"},
		"truncated":        {good, []*wire.CheckpointPart{data("sta")}, io.EOF, "ends after 3 of 5"},
		"in excess":        {good, []*wire.CheckpointPart{data("state"), data("s")}, io.EOF, "more than its 5"},
		"one part of more": {good, []*wire.CheckpointPart{data("states")}, io.EOF, "more than its 5"},
		"an empty part":    {good, []*wire.CheckpointPart{data("sta"), data("")}, io.EOF, "an empty part after 3"},
		"no part":          {good, []*wire.CheckpointPart{{}}, io.EOF, "an empty part after 0"},
		"a second header":  {good, []*wire.CheckpointPart{data("sta"), second}, io.EOF, "a second header after 3"},
		"broken":           {good, []*wire.CheckpointPart{data("sta")}, broken, "after 3 of 5 bytes: the stream broke"},
	} {
		rest := c.parts
		got, err := wire.ReadCheckpoint(c.header, func() (*wire.CheckpointPart, error) {
			if len(rest) == 0 {
				return nil, c.end
			}
			next := rest[0]
			rest = rest[1:]
			return next, nil
		})
		switch {
		case c.want == "":
			if err != nil || string(got) != "state" {
				t.Errorf("%s: %q, %v", name, got, err)
			}
		case err == nil || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %v, want %q", name, err, c.want)
		case errors.Is(err, wire.ErrCheckpoint) == errors.Is(err, broken):
			t.Errorf("%s: %v is the wrong error", name, err)
		}
	}
}

// FuzzReadCheckpoint checks that accepted bytes are those that the header announced.
func FuzzReadCheckpoint(f *testing.F) {
	sum := sha256.Sum256([]byte("state"))
	f.Add(int64(5), sum[:], wiretest.Join(f, data("sta"), data("te")))
	f.Add(int64(5), sum[:], wiretest.Join(f, data("sta"), data("")))
	f.Add(int64(1)<<62, sum[:], wiretest.Join(f, data("state")))
	f.Fuzz(func(t *testing.T, size int64, hash, rest []byte) {
		got, err := wire.ReadCheckpoint(header(size, hash), func() (*wire.CheckpointPart, error) {
			return wiretest.Next[wire.CheckpointPart](&rest)
		})
		if err != nil {
			return
		}
		if sum := sha256.Sum256(got); int64(len(got)) != size || !bytes.Equal(sum[:], hash) {
			t.Fatalf("%d bytes with hash %x, announced were %d with %x", len(got), sum, size, hash)
		}
	})
}
