package softmin

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/internal/testclouds"
)

// On every level, the sources that matter to a target of the box are kept, vectors keep
// the same ones as the plain code, and most sources are dropped.
func TestNarrowKeepsWhatMatters(t *testing.T) {
	for _, d := range []int{2, 3, 7} {
		to := measured(testclouds.Law{Kind: "ratio", N: 300, D: d, Seed: 41, Parameters: []float64{0.3}})
		from := measured(testclouds.Law{Kind: "ratio", N: 501, D: d, Seed: 42, Parameters: []float64{0.3}})
		for name, potential := range testPotentials {
			const eps = 0.01
			job := task{Transform: Transform{To: to, From: from}, eps: eps}
			values := make([]float64, from.n)
			for j := range values {
				values[j] = potential(from.x[j], j)
			}
			job.exponents.set(values, math.Log2E/eps, from.groups)
			s := scratch{levels: make([]sources, 8)}
			b := to.tree[0]
			for level := range s.levels {
				star := make([]float64, d)
				top := job.narrow(&s, level, &b, star)
				kept := &s.levels[level]
				all := job.all()
				plain, vector := sources{}, sources{}
				cut := tileCut + math.Log2(float64(from.n))
				for _, to := range []*sources{&plain, &vector} {
					to.clear(from.n, d)
				}
				job.keepPlain(&plain, &all, 0, from.n, top, cut, &b, star)
				job.keep(&vector, &all, 0, from.n, top, cut, &b, star)
				if plain.n != vector.n || !slices.Equal(plain.exponent[:plain.n], vector.exponent[:plain.n]) || !slices.Equal(plain.x[:plain.n], vector.x[:plain.n]) {
					t.Errorf("%dD, potential %s, level %d: kept %d of %d, plain %d", d, name, level, vector.n, from.n, plain.n)
				}
				for i := b.lo; i < b.hi; i++ {
					exponent := make([]float64, from.n)
					for j := range exponent {
						exponent[j] = job.exponent[j]
						for k := range d {
							exponent[j] -= math.Log2E / (2 * eps) * sq(to.x[k*to.n+i]-from.x[k*from.n+j])
						}
					}
					highest := slices.Max(exponent)
					for j, e := range exponent {
						if e > highest-cut+1e-6 && !slices.Contains(kept.x[:kept.n], from.x[j]) {
							t.Fatalf("%dD, potential %s, level %d: source %d matters to target %d and was dropped", d, name, level, j, i)
						}
					}
				}
				if b.hi-b.lo == 1 && kept.n > from.n/2 {
					t.Errorf("%dD, potential %s: %d of %d sources matter to one target", d, name, kept.n, from.n)
				}
				if b.hi-b.lo > 1 {
					b = to.halves(&b)[level%2]
				}
			}
		}
	}
}
