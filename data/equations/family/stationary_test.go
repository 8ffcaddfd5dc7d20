package family

import (
	"context"
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// The law that the density package integrates is invariant under the dynamics:
// independent draws of it, moved on by Euler–Maruyama steps of a plain loop, still
// have it, however slowly the function mixes. Where the diffusion of the steps is
// 15 % larger they have not, after 1.5 time units. √n·KS is above 2.2 with
// probability 1e-4; the scheme's bias adds O(Δt)·√n, some tenths.
func TestVN1DLawIsInvariant(t *testing.T) {
	const n, dt, steps = 16384, 0.005, 300
	for i := range 3 {
		law, err := vn1d{}.Law(1, i)
		if err != nil {
			t.Fatal(err)
		}
		c, err := vn1d{}.coefficients(1, i)
		if err != nil {
			t.Fatal(err)
		}
		source := random.New(1, "test/invariant", uint64(i))
		for _, factor := range []float64{1, 1.15} {
			x := make([]float32, n)
			law.Sample(x, source)
			for k := range x {
				at := float64(x[k])
				for range steps {
					at += c.DriftAt(at)*dt + factor*c.DiffusionAt(at)*math.Sqrt(dt)*source.NormFloat64()
				}
				x[k] = float32(at)
			}
			k := ksScaled(x, law)
			if invariant := k < 2.2; invariant != (factor == 1) {
				t.Errorf("function %d, diffusion ×%g: √n·KS is %.2f", i, factor, k)
			}
		}
	}
}

// Samples of the reference keep their law as the simulation goes on: those of half
// the chains and, of the other half, those two time units later are independent
// sets of one law, in every coordinate and in the distance from the origin. Without
// burn-in they are not.
func TestReferenceIsStationary(t *testing.T) {
	const chains, later = 4096, 200
	for _, test := range []struct {
		family Family
		burnIn int // of the reference
	}{{vn1d{line{vn1dGrid}}, 5000}, {cn2d{}, 2000}} {
		d := test.family.Dim()
		for i := range 4 {
			for _, burnIn := range []int{test.burnIn, 0} {
				s := simulate.Scheme{DT: 0.01, BurnIn: burnIn, Thin: later, Chains: chains, Start: "3"}
				dst := make([]float32, 2*chains*d)
				if err := Sample(context.Background(), test.family, dst, SampleSpec{First: i, Count: 1, Seed: 1, Scheme: s, Purpose: "test"}, simulate.Fastest(), nil); err != nil {
					t.Fatal(err)
				}
				worst := 0.0
				for axis := range d + 1 {
					number := func(x []float32) float32 {
						if axis < d {
							return x[axis]
						}
						square := float32(0)
						for _, v := range x {
							square += v * v
						}
						return square
					}
					var before, after []float32
					for k := range chains {
						chain := dst[2*k*d:]
						if k%2 == 0 {
							before = append(before, number(chain[:d]))
						} else {
							after = append(after, number(chain[d:2*d]))
						}
					}
					worst = max(worst, ksPair(before, after))
				}
				if stationary := burnIn > 0; (worst > 2.2) == stationary {
					t.Errorf("%s function %d: after %d steps of burn-in √(nm/(n+m))·KS is %.2f", test.family.Name(), i, burnIn, worst)
				}
			}
		}
	}
}

// ksPair is √(nm/(n+m)) times the Kolmogorov–Smirnov distance of two independent
// samples.
func ksPair(x, y []float32) float64 {
	slices.Sort(x)
	slices.Sort(y)
	n, m := float64(len(x)), float64(len(y))
	worst, j := 0.0, 0
	for i, v := range x {
		for j < len(y) && y[j] <= v {
			worst = max(worst, math.Abs(float64(i)/n-float64(j+1)/m))
			j++
		}
		worst = max(worst, math.Abs(float64(i+1)/n-float64(j)/m))
	}
	return worst * math.Sqrt(n*m/(n+m))
}
