package metrics

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
)

// autoregressive are chains of N(0, 1) with correlation rho from draw to draw.
func autoregressive(rng *rand.Rand, chains, draws int, rho float64) []float32 {
	x := make([]float32, 0, chains*draws)
	for range chains {
		v := rng.NormFloat64()
		for range draws {
			x = append(x, float32(v))
			v = rho*v + math.Sqrt(1-rho*rho)*rng.NormFloat64()
		}
	}
	return x
}

func effectiveSize[T float32 | float64](samples []T, chains int) float64 {
	return EffectiveSize(diagnostics.Of(samples, chains), len(samples))
}

// Of pairs of chains of one law, KS itself finds most to differ. The effective size is right
// where it is known, n(1−ρ)/(1+ρ) for long chains, and p-values of it are not too small,
// whether the chains are known or only the order of their draws.
func TestKSOfChains(t *testing.T) {
	const pairs = 60
	rng := rand.New(rand.NewPCG(29, 8))
	for _, c := range []struct {
		chains, draws int
		rho, want     float64
	}{
		{1, 2000, 0.9, 2000. / 19}, {20, 100, 0.9, 2000. / 19}, {64, 32, 0, 2048}, {1, 200, 0, 200},
		{512, 4, 0.9, 512 * 16 / (4 + 6*0.9 + 4*0.81 + 2*0.729)}, // chains of four: 1/variance of their mean
	} {
		var plain, known, ordered, far int
		var size float64
		for range pairs {
			x, y := autoregressive(rng, c.chains, c.draws, c.rho), autoregressive(rng, c.chains, c.draws, c.rho)
			points := [2]int{len(x), len(y)}
			effective := [2]float64{effectiveSize(x, c.chains), effectiveSize(y, c.chains)}
			size += effective[0] / pairs
			count := func(n *int, p float64) {
				if p < 0.05 {
					*n++
				}
			}
			d, p, err := KS(x, y)
			if err != nil {
				t.Fatal(err)
			}
			count(&plain, p)
			count(&known, KSEffectiveP(d, p, points, effective))
			count(&ordered, KSEffectiveP(d, p, points, [2]float64{effectiveSize(x, 1), effectiveSize(y, 1)}))
			for i := range y {
				y[i] += 1
			}
			d, p, _ = KS(x, y)
			count(&far, KSEffectiveP(d, p, points, effective))
		}
		if c.rho > 0 && plain < pairs/5 {
			t.Errorf("%+v: as if independent, %d of %d pairs are below 5 %%", c, plain, pairs)
		}
		if known > 9 || ordered > 9 { // 3 expected, standard deviation 1.7
			t.Errorf("%+v: %d of %d pairs are below 5 %%, by their order %d", c, known, pairs, ordered)
		}
		if far < pairs*9/10 {
			t.Errorf("%+v: only %d of %d pairs are below 5 %% whose laws differ", c, far, pairs)
		}
		if !(math.Abs(size-c.want) <= 0.25*c.want) {
			t.Errorf("%+v: worth %.0f independent draws, want %.0f", c, size, c.want)
		}
	}
}

func TestEffectiveSizeOfFew(t *testing.T) {
	for n := 1; n < 12; n++ {
		x := make([]float64, n)
		for i := range x {
			x[i] = float64(i * i % 7)
		}
		if size := effectiveSize(x, 1); !(size >= 1 && size <= float64(n)) {
			t.Errorf("%d points are worth %v", n, size)
		}
	}
	if size := effectiveSize(make([]float32, 100), 1); size != 100 { // equal draws tell nothing of order
		t.Errorf("100 equal points are worth %v", size)
	}
	if p := KSEffectiveP(0.8, 0.079, [2]int{5, 5}, [2]float64{5, 5}); p != 0.079 {
		t.Errorf("p of independent draws is %v, not that of KS", p)
	}
}
