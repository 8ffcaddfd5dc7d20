package bucketsort

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// Against an ordinary sort, on numbers spread well, badly and not at all, in
// falling and rising lengths.
func TestSortsAsAnOrdinarySort(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var s Sorter
	for name, draw := range map[string]func() float64{
		"even":      rng.Float64,
		"normal":    rng.NormFloat64,
		"cauchy":    func() float64 { return rng.NormFloat64() / rng.NormFloat64() },
		"few":       func() float64 { return float64(rng.IntN(3)) },
		"equal":     func() float64 { return -7 },
		"subnormal": func() float64 { return 5e-324 * float64(rng.IntN(10)) },
		"opposite":  func() float64 { return math.Copysign(math.MaxFloat64, rng.NormFloat64()) },
		"huge":      func() float64 { return 1e307 * rng.NormFloat64() },
		"close":     func() float64 { return 1 + 1e-16*float64(rng.IntN(100)) },
	} {
		for _, n := range []int{4096, 0, 1, 2, 3, 13, 100, 1000} {
			src := make([]float64, n)
			for i := range src {
				src[i] = draw()
			}
			dst := make([]float64, n)
			s.Sort(dst, src)
			if !slices.Equal(dst, slices.Sorted(slices.Values(src))) {
				t.Errorf("%s: %d numbers are not sorted", name, n)
			}
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 1))
	src, dst := make([]float64, 4096), make([]float64, 4096)
	for i := range src {
		src[i] = rng.NormFloat64()
	}
	b.Run("buckets", func(b *testing.B) {
		var s Sorter
		for b.Loop() {
			s.Sort(dst, src)
		}
	})
	b.Run("comparisons", func(b *testing.B) {
		for b.Loop() {
			copy(dst, src)
			slices.Sort(dst)
		}
	})
}
