package softmin

import (
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// partition moves the smallest keys to the front, for keys in any order.
func TestPartition(t *testing.T) {
	source := testclouds.Law{Seed: 9}
	for name, key := range map[string]func(i, n int) uint64{
		"random":     func(i, _ int) uint64 { return uint64(source.Uniform(i, 0)*1e6)<<32 | uint64(i) },
		"rising":     func(i, _ int) uint64 { return uint64(i) },
		"falling":    func(i, n int) uint64 { return uint64(n - i) },
		"organ pipe": func(i, n int) uint64 { return uint64(min(i, n-i))<<32 | uint64(i) },
		"two values": func(i, _ int) uint64 { return uint64(i%2)<<32 | uint64(i) },
	} {
		for _, n := range []int{1, 2, 16, 17, 18, 100, 1001} {
			for _, k := range []int{0, 1, n / 3, (n + 1) / 2, n} {
				keys := make([]uint64, n)
				for i := range keys {
					keys[i] = key(i, n)
				}
				want := slices.Sorted(slices.Values(keys))
				partition(keys, k)
				slices.Sort(keys[:k])
				slices.Sort(keys[k:])
				if !slices.Equal(keys, want) {
					t.Errorf("%s: %d of %d are not the smallest", name, k, n)
				}
			}
		}
	}
	for _, pair := range [][2]float32{{-3e38, -1}, {-1, -1e-45}, {-1e-45, 0}, {0, 1e-45}, {1, 3e38}} {
		if !(sortable(pair[0]) < sortable(pair[1])) {
			t.Errorf("%v and %v are out of order", pair[0], pair[1])
		}
	}
}
