package assignment

import (
	"fmt"
	"testing"
)

// One problem on one core, for every instruction set, all kinds of clouds.
func BenchmarkSolve(b *testing.B) {
	for _, set := range sets() {
		for _, kind := range []string{"uniform", "clusters", "same", "heavy"} {
			for _, n := range []int{32, 64, 128, 512} {
				b.Run(fmt.Sprintf("%v/%s/%d", set, kind, n), func(b *testing.B) {
					x, y := clouds(kind, n, 2, 1)
					s, match := Solver{set: set}, make([]int32, n)
					for b.Loop() {
						if _, err := s.Solve(match, x, y, 2); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}
