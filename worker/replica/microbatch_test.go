package replica

import (
	"math/bits"
	"slices"
	"testing"
)

func TestMicroBatches(t *testing.T) {
	for n := range 130 {
		shards := make([]int, n)
		for i := range shards {
			shards[i] = 3 * i
		}
		groups := microBatches(shards, 1<<16)
		if got := slices.Concat(groups...); !slices.Equal(got, shards) && n > 0 {
			t.Errorf("%d shards: the groups together are %v", n, got)
		}
		if len(groups) != bits.OnesCount(uint(n)) {
			t.Errorf("%d shards: %d groups, more than binary digits that are set", n, len(groups))
		}
		for _, g := range groups {
			if bits.OnesCount(uint(len(g))) != 1 {
				t.Errorf("%d shards: a group of %d, no power of two", n, len(g))
			}
		}
		for _, most := range []int{1, 4, 7} {
			groups := microBatches(shards, most)
			if got := slices.Concat(groups...); !slices.Equal(got, shards) && n > 0 {
				t.Errorf("%d shards: the groups of at most %d together are %v", n, most, got)
			}
			for _, g := range groups {
				if bits.OnesCount(uint(len(g))) != 1 || len(g) > most {
					t.Errorf("%d shards: a group of %d, want a power of two of at most %d", n, len(g), most)
				}
			}
		}
	}
}
