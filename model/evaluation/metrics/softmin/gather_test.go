package softmin

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// Vectors gather the sources that the plain code gathers, in their order, with the same exponents
// and slopes up to rounding, and refuse what it refuses.
func TestGather(t *testing.T) {
	for _, d := range []int{2, 3, 7} {
		to := measured(testclouds.Law{Kind: "ratio", N: 300, D: d, Seed: 41, Parameters: []float64{0.3}})
		from := measured(testclouds.Law{Kind: "ratio", N: 501, D: d, Seed: 42, Parameters: []float64{0.3}})
		for name, potential := range testPotentials {
			for _, eps := range []float64{1, 0.01, 1e-5} {
				job := task{Transform: Transform{To: to, From: from}, eps: eps}
				values := make([]float64, from.n)
				for j := range values {
					values[j] = potential(from.x[j], j)
				}
				job.exponents.set(values, math.Log2E/eps, from.groups)
				for node := range to.tree {
					b := &to.tree[node]
					var plain, vector scratch
					plain.reserve(from.n, d)
					vector.reserve(from.n, d)
					star := make([]float64, d)
					top := job.dominant(&plain, b, star)
					// An odd first source, so that vectors begin anywhere.
					want, right := job.gatherPlain(&plain, 0, 1, from.n, top, b, star)
					got, fine := job.gather(&vector, 0, 1, from.n, top, b, star)
					if fine != right || right && got != want {
						t.Fatalf("%dD, potential %s, ε %g, node %d: %d sources (%t), plain %d (%t)", d, name, eps, node, got, fine, want, right)
					}
					if !right {
						continue
					}
					for j := range want {
						alike := math.Abs(vector.a[j]-plain.a[j]) <= 1e-9*(1+math.Abs(plain.a[j]))
						for k := range d {
							v, p := vector.v[k*vector.stride+j], plain.v[k*plain.stride+j]
							alike = alike && math.Abs(v-p) <= 1e-12*(1+math.Abs(p))
						}
						if !alike {
							t.Fatalf("%dD, potential %s, ε %g, node %d: source %d has the exponent %g, plain %g", d, name, eps, node, j, vector.a[j], plain.a[j])
						}
					}
				}
			}
		}
	}
}
