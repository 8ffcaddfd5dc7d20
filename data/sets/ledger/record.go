package ledger

import (
	"crypto/sha256"
	"encoding/binary"
)

// A Hasher computes words. The zero value is ready for use by one goroutine.
type Hasher struct{ buffer []byte }

// Word identifies samples of a function: the first 8 bytes, little-endian, of the SHA-256 of
// the function's number (8 bytes) and the indices (4 bytes each), little-endian, in the order
// of their use.
func (h *Hasher) Word(function int, indices []int32) uint64 {
	h.buffer = binary.LittleEndian.AppendUint64(h.buffer[:0], uint64(function))
	for _, i := range indices {
		h.buffer = binary.LittleEndian.AppendUint32(h.buffer, uint32(i))
	}
	sum := sha256.Sum256(h.buffer)
	return binary.LittleEndian.Uint64(sum[:])
}

// A Use is one function's part of a batch.
type Use struct {
	Shard int
	Word  uint64
}

// A Record lists the data of one step. For each of K shards it has the sum of the words,
// modulo 2^64, and then for each shard its users: 2^32 times their number plus the sum of
// their ranks. The ring sums the records of all ranks as wrapping integers, so neither the
// order nor the number of ranks matters.
type Record []int64

// NewRecord is the empty record of that many shards.
func NewRecord(shards int) Record { return make(Record, 2*shards) }

// Add records the uses of a rank.
func (r Record) Add(rank int, uses []Use) {
	shards := len(r) / 2
	for _, u := range uses {
		r[u.Shard] += int64(u.Word)
		r[shards+u.Shard] = usedBy(rank)
	}
}

// parts are the words and the users of each shard.
func (r Record) parts() (words, users []int64) { return r[:len(r)/2], r[len(r)/2:] }

const oneUser = 1 << 32

// usedBy is the entry of a shard that one rank used.
func usedBy(rank int) int64 { return oneUser + int64(rank) }

// user is the only rank that used a shard; ok is false if there was not exactly one.
func user(entry int64) (rank int, ok bool) {
	return int(entry % oneUser), entry/oneUser == 1
}
