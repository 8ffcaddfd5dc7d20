package grf

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

// A field of the cn2d experiment: made for its length, drawn once.
func BenchmarkPlane(b *testing.B) {
	const nodes, spacing = 32, 10. / 31
	first, second := make([]float64, nodes*nodes), make([]float64, nodes*nodes)
	for _, length := range []float64{0.3, 1, 2, 5} {
		kernel := SquaredExponential(length, 1)
		b.Run(fmt.Sprintf("new/length=%v", length), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := kernelPlane(nodes, nodes, spacing, spacing, kernel); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("squared exponential/length=%v", length), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := NewSquaredExponentialPlane(nodes, nodes, spacing, spacing, length, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("pair/length=%v", length), func(b *testing.B) {
			field, err := kernelPlane(nodes, nodes, spacing, spacing, kernel)
			if err != nil {
				b.Fatal(err)
			}
			rng := rand.New(rand.NewPCG(1, 2))
			b.ReportAllocs()
			for range b.N {
				field.Pair(first, second, rng)
			}
		})
	}
}
