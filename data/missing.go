package data

import (
	"github.com/ergoflow/ergoflow/data/equations/family"
)

// Missing are the shards that a store lacks, and the bytes that they would take. f is the data
// set's family; has tells of a data set's hash and a shard whether the store has it.
func (d Dataset) Missing(f family.Family, has func(dataset string, k int) bool) (shards []int, bytes int64) {
	hash := d.Hash()
	for k := range d.HeldOutShard() + 1 {
		if !has(hash, k) {
			shards = append(shards, k)
			bytes += d.header(k, f).Bytes()
		}
	}
	return shards, bytes
}
