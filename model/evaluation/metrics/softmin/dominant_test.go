package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// The search on vectors returns what the plain one returns, in groups of all sizes:
// the highest source, or the one before if none is higher.
func TestSearchesAgree(t *testing.T) {
	for _, d := range []int{2, 3, 64} {
		from := measured(testclouds.Law{Kind: "normal", N: 100, D: d, Seed: 103, Parameters: []float64{0, 1}})
		job := task{Transform: Transform{From: from}, eps: 0.1, exponents: exponents{exponent: make([]float64, from.n)}}
		for j := range job.exponent {
			job.exponent[j] = math.Sin(float64(j) * 12.9898)
		}
		all := job.all()
		centre := make([]float64, d)
		centre[0] = 0.3
		for lo := range nodePoints {
			for hi := lo + 1; hi <= lo+nodePoints; hi++ {
				highest, top := job.searchPlain(&all, lo, hi, centre, -1, math.Inf(-1))
				for _, before := range []float64{math.Inf(-1), top - 1e-3, top + 1e-3} {
					want := highest
					if before > top {
						want = -1
					}
					best, got := job.search(&all, lo, hi, centre, -1, before)
					if best != want || !(math.Abs(got-max(before, top)) <= 1e-12*math.Abs(top)) {
						t.Fatalf("%dD, sources %d to %d, at least %v: %v of %d, want %v of %d", d, lo, hi, before, got, best, top, want)
					}
				}
			}
		}
	}
}
