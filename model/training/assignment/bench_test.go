package assignment

import (
	"fmt"
	"testing"
)

// One problem on one core, for every instruction set. The problems change: the
// processor would learn to predict the branches of a single one.
func BenchmarkSolve(b *testing.B) {
	const problems = 64
	for _, set := range sets() {
		for _, kind := range []string{"uniform", "clusters", "same", "heavy"} {
			for _, n := range []int{32, 64, 128, 512} {
				b.Run(fmt.Sprintf("%v/%s/%d", set, kind, n), func(b *testing.B) {
					var x, y [problems][]float32
					for p := range problems {
						x[p], y[p] = clouds(kind, n, 2, uint64(p))
					}
					s, match, p := Solver{set: set}, make([]int32, n), 0
					for b.Loop() {
						if _, err := s.Solve(match, x[p], y[p], 2); err != nil {
							b.Fatal(err)
						}
						p = (p + 1) % problems
					}
				})
			}
		}
	}
}
