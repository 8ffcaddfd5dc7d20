package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// Vectors and plain code write the same frame, to the rounding of float32.
func TestFramesAgree(t *testing.T) {
	for _, d := range []int{1, 2, 5} {
		from := measured(testclouds.Law{Kind: "ratio", N: 203, D: d, Seed: 121, Parameters: []float64{1}})
		centre, star := make([]float64, d), make([]float64, d)
		centre[0], star[0] = 0.3, -0.2
		var e exponents
		e.set(make([]float64, from.n), 1, from.groups)
		job := task{Transform: Transform{From: from}, exponents: e, eps: 0.04}
		all := job.all()
		blank := func() tiles { return tiles{a: make([]float32, 210), v: make([]float32, 210*d), stride: 210} }
		want, got := blank(), blank()
		job.framePlain(&want, &all, 0, -1.5, centre, star)
		job.frame(&got, &all, -1.5, centre, star)
		for name, pair := range map[string][2][]float32{"exponent": {want.a, got.a}, "slope": {want.v, got.v}} {
			for i, w := range pair[0] {
				if g := pair[1][i]; !(math.Abs(float64(g-w)) <= 3e-7*math.Abs(float64(w))) {
					t.Errorf("%dD: %s %d is %v, plain %v", d, name, i, g, w)
				}
			}
		}
	}
}
