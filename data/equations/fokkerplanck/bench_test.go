package fokkerplanck

import (
	"fmt"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
)

// The law of a turning linear equation, on cells of each size.
func BenchmarkSolve(b *testing.B) {
	s := expressiontest.Space(b, 2, "i == 0 ? -x[0] - x[1] : x[0] - x[1]", "sqrt(2)")
	for n := coarsest; n <= 128; n *= 2 {
		g := grid{axes: [2]axis{{lo: -5, hi: 5}, {lo: -5, hi: 5}}, n: n}
		b.Run(fmt.Sprintf("cells=%d", n*n), func(b *testing.B) {
			for b.Loop() {
				if _, err := g.solve(s); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
