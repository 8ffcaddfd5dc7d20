package wells

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression/expressiontest"
	"github.com/ergoflow/ergoflow/data/random"
)

// The masses of wells behind a barrier that no chain crosses are those of quadrature, whatever the samples
// have. The wells have other masses, depths and widths, in one and in eight coordinates.
func TestMasses(t *testing.T) {
	// U = 2/σ²·(x⁴/4 − x²/2 + 0.04x − x³/20), of which exp(−U) is integrated: barriers of 12 and 13.
	const variance = 0.04
	density := func(x float64) float64 {
		return math.Exp(-2 / variance * (x*x*x*x/4 - x*x/2 + 0.04*x - x*x*x/20))
	}
	var left, total float64
	const top = 0.04 // the maximum of U between the wells
	for x := -2.; x < 2.5; x += 1e-4 {
		total += density(x)
		if x < top {
			left += density(x)
		}
	}
	dims := []int{1, 8}
	if testing.Short() { // race's run, as in TestWellThatSamplesLack
		dims = dims[:1]
	}
	for _, dim := range dims {
		s := expressiontest.Space(t, dim, "i == 0 ? x[i] - x[i]^3 - 0.04 + 0.15*x[i]^2 : -x[i]", "i == 0 ? 0.2 : sqrt(2)")
		x := draws(1024, dim, func(rng *rand.Rand, c int) float64 {
			if c > 0 {
				return rng.NormFloat64()
			}
			if rng.Float64() < 0.6 {
				return -0.95 + 0.1*rng.NormFloat64()
			}
			return 1.06 + 0.09*rng.NormFloat64()
		})
		seen := look(t, s, x)
		if len(seen.Wells) != 2 {
			t.Errorf("%d coordinates: wells %+v", dim, seen.Wells)
			continue
		}
		for _, w := range seen.Wells {
			want, have := left/total, 0.6
			if w.At[0] > 0 {
				want, have = 1-want, 0.4
			}
			if math.Abs(w.Law-want) > 4*w.Error || math.Abs(w.Law-want) > 0.05 || math.Abs(w.Have-have) > 0.1 || !(w.Error < 0.06) {
				t.Errorf("%d coordinates: %+v, want %.3f of the law", dim, w, want)
			}
		}
	}
}

// A drift that turns has no potential: nothing is said of masses.
func TestMassesOfGradientsAlone(t *testing.T) {
	s := expressiontest.Space(t, 2, "i == 0 ? x[0] - x[0]^3 + x[1] : -x[0] - x[1]", "0.2")
	x := draws(1024, 2, func(rng *rand.Rand, _ int) float64 { return rng.NormFloat64() })
	if seen := look(t, s, x); len(seen.Wells) > 0 {
		t.Errorf("%+v", seen.Wells)
	}
}

// Bennett's ratio of two normal laws whose map is exact, is nearly, and is not; and of too few states.
func TestAcceptance(t *testing.T) {
	rng := random.New(1, "wells/acceptance")
	draw := func(n int, deviation float64) []float64 {
		x := make([]float64, n)
		for i := range x {
			x[i] = deviation * rng.NormFloat64()
		}
		return x
	}
	// Z of exp(−x²/2) and exp(3 − x²/2/s²) is √2π and e³·s√2π.
	for _, s := range []float64{1, 1.5, 4} {
		forth, back := draw(400, 1), draw(200, s)
		for i, x := range forth {
			forth[i] = x*x/2/s/s - 3 - x*x/2
		}
		for i, x := range back {
			back[i] = x*x/2 + 3 - x*x/2/s/s
		}
		log, deviation := acceptance(forth, back)
		if want := 3 + math.Log(s); math.Abs(log-want) > 4*deviation+1e-9 || deviation > 0.2 {
			t.Errorf("deviation %g: %.3f ± %.3f, want %.3f", s, log, deviation, want)
		}
	}
	if _, deviation := acceptance([]float64{900, 800, 700, 600}, []float64{900, 800, 700, 600}); !math.IsInf(deviation, 1) {
		t.Errorf("no overlap: deviation %g", deviation)
	}
}
