package shard

import (
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Shards that each release has made are read, and are whole.
func TestCorpus(t *testing.T) {
	corpus.Check(t, "shard",
		func(dir string) { write(t, NewDir(dir), header) },
		func(dir string) any {
			d := NewDir(dir)
			if err := d.Verify(t.Context(), dataset, header.Shard); err != nil {
				t.Error(err)
			}
			m, err := d.Manifest(dataset, header.Shard)
			if err != nil {
				t.Fatal(err)
			}
			s, err := d.Open(dataset, header.Shard)
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			read := map[string]any{"manifest": m}
			for i := range m.Count {
				read[string(rune('0'+i))] = []any{slices.Clone(s.Field(0, i)), slices.Clone(s.Field(1, i)), slices.Clone(s.Samples(i))} // they are mapped
			}
			return read
		})
}
