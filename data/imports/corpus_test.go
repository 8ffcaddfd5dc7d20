package imports

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/internal/corpus"
)

// Imports of each release are read, with the same numbers.
func TestCorpus(t *testing.T) {
	corpus.Check(t, "imports",
		func(dir string) {
			path := filepath.Join(t.TempDir(), "ou.safetensors")
			ou(1, 2, 64).write(t, path)
			one(t, collect(t, shard.NewDir(dir), path, specOf(t, "vn1d", 64)))
		},
		func(dir string) any {
			store := shard.NewDir(dir)
			records, err := List(store, "mine")
			if err != nil || len(records) != 1 {
				t.Fatalf("%d records: %v", len(records), err)
			}
			im := opened(t, store, records[0].Hash)
			return map[string]any{"record": im.Record(), "drift": slices.Clone(im.Field(0, 1)), "samples": slices.Clone(im.Samples(1))}
		})
}
