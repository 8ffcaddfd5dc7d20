package data

import (
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Missing are the shards that a store lacks, and the bytes that they would take. f is the data
// set's family.
func (d Dataset) Missing(f family.Family, store *shard.Dir) (shards []int, bytes int64) {
	hash := d.Hash()
	for k := range d.HeldOutShard() + 1 {
		if !store.Has(hash, k) {
			shards = append(shards, k)
			bytes += d.header(k, f).Bytes()
		}
	}
	return shards, bytes
}
