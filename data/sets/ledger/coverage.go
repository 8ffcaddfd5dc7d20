package ledger

import "fmt"

// maxCovered bounds the samples of a shard: 1 GiB of bits.
const maxCovered = 1 << 33

// coverage records which samples of a shard an epoch has used.
type coverage struct {
	samples, total int
	used           []uint64 // bits, function after function
	count          int
}

func newCoverage(functions, samples int) (*coverage, error) {
	total := functions * samples
	if total > maxCovered {
		return nil, fmt.Errorf("ledger: a shard has %d samples, must be at most %d to be counted", total, maxCovered)
	}
	return &coverage{samples: samples, total: total, used: make([]uint64, (total+63)/64)}, nil
}

// take marks samples of a function as used, and reports whether none of them was.
func (c *coverage) take(function int, indices []int32) bool {
	fresh := true
	for _, i := range indices {
		bit := function*c.samples + int(i)
		mask := uint64(1) << (bit % 64)
		fresh = fresh && c.used[bit/64]&mask == 0
		c.used[bit/64] |= mask
	}
	c.count += len(indices)
	return fresh
}

// turn ends the epoch and reports whether it used every sample.
func (c *coverage) turn() bool {
	whole := c.count == c.total
	clear(c.used)
	c.count = 0
	return whole
}
