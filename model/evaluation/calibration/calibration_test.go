package calibration

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/ergoflow/ergoflow/data/random"
)

// ranksOf are ranks of exact draws of N(0, 1) among m draws of N(mean, deviation²).
func ranksOf(n, m int, mean, deviation float64, rng *rand.Rand) []int {
	ranks, draws := make([]int, n), make([]float64, m)
	for c := range ranks {
		for i := range draws {
			draws[i] = mean + deviation*rng.NormFloat64()
		}
		ranks[c] = Rank(draws, rng.NormFloat64(), rng)
	}
	return ranks
}

// Uniform ranks leave the band as often as asked for, and P is at most p with at most the
// probability p.
func TestUniformRanksAreInside(t *testing.T) {
	const trials = 1500
	for _, test := range []struct{ n, m int }{{64, 100}, {300, 19}, {100, 1000}} {
		rng := random.New(1, "calibration/uniform", uint64(test.n))
		outside, small := 0, map[float64]int{}
		b := newBinomials(test.n, test.m)
		level := b.level(0.1)
		for range trials {
			ranks := make([]int, test.n)
			for i := range ranks {
				ranks[i] = rng.IntN(test.m + 1)
			}
			least := 1.0
			for i, last := range b.ranks {
				count := 0
				for _, r := range ranks {
					if r <= last {
						count++
					}
				}
				least = min(least, b.gamma[i][count])
			}
			if least <= level {
				outside++
			}
		}
		for i := range 100 { // the whole test is slower
			ranks := make([]int, test.n)
			for k := range ranks {
				ranks[k] = rng.IntN(test.m + 1)
			}
			u, err := Uniform(ranks, test.m, 0.1)
			if err != nil {
				t.Fatal(err)
			}
			if u.Inside != (u.P > 0.1) && math.Abs(u.P-0.1) > 0.02 {
				t.Errorf("%d of %d, trial %d: inside %v, p %.4f", test.n, test.m, i, u.Inside, u.P)
			}
			for _, p := range []float64{0.05, 0.2, 0.5} {
				if u.P <= p {
					small[p]++
				}
			}
		}
		if part := float64(outside) / trials; part > 0.1+0.025 || part < 0.06 {
			t.Errorf("%d ranks among %d draws: %.3f are outside the band of 0.1", test.n, test.m, part)
		}
		for p, count := range small {
			if part := float64(count) / 100; part > p+0.15 || part < p-0.17 {
				t.Errorf("%d ranks among %d draws: p is at most %g in %.3f of the trials", test.n, test.m, p, part)
			}
		}
	}
}

// Samplers that are too wide, too narrow or moved leave the band. The skill says which they are.
func TestWrongSamplersAreOutside(t *testing.T) {
	for _, test := range []struct {
		mean, deviation float64
		inside          bool
		bias, spread    float64 // signs
	}{{0, 1, true, 0, 0}, {0.3, 1, false, -1, 0}, {-0.3, 1, false, 1, 0}, {0, 0.7, false, 0, 1}, {0, 1.5, false, 0, -1}} {
		const m = 100
		ranks := ranksOf(500, m, test.mean, test.deviation, random.New(2, "calibration/wrong"))
		u, err := Uniform(ranks, m, 0.01)
		if err != nil || u.Inside != test.inside || (u.P < 1e-3) == test.inside {
			t.Errorf("N(%g, %g²): inside %v, p %.3g, %v", test.mean, test.deviation, u.Inside, u.P, err)
		}
		s := SkillOf(ranks, m)
		for name, pair := range map[string][2]float64{"bias": {s.Bias, test.bias}, "spread": {s.Spread, test.spread}} {
			tolerance := 0.05 // four standard errors of uniform ranks: 0.052 and 0.16
			if name == "spread" {
				tolerance = 0.16
			}
			if got := pair[0]; pair[1] == 0 && math.Abs(got) > tolerance || pair[1] != 0 && got*pair[1] < tolerance {
				t.Errorf("N(%g, %g²): %s is %.3f", test.mean, test.deviation, name, got)
			}
		}
	}
}

// TARP sees a wrong correlation, which no coordinate shows.
func TestTARP(t *testing.T) {
	const n, m = 500, 100
	for _, correlation := range []float64{0.9, 0} { // of the sampler; the law's is 0.9
		rng := random.New(3, "calibration/tarp")
		pair := func(r float64) (float64, float64) {
			a, b := rng.NormFloat64(), rng.NormFloat64()
			return a, r*a + math.Sqrt(1-r*r)*b
		}
		var tarp, first, second []int
		for range n {
			mean := []float64{3 * rng.NormFloat64(), 3 * rng.NormFloat64()} // of the equation
			draws := make([]float64, 2*m)
			xs, ys := make([]float64, m), make([]float64, m)
			for i := range m {
				a, b := pair(correlation)
				xs[i], ys[i] = mean[0]+a, mean[1]+b
				draws[2*i], draws[2*i+1] = xs[i], ys[i]
			}
			a, b := pair(0.9)
			exact := []float64{mean[0] + a, mean[1] + b}
			one := []float64{1, 1}
			tarp = append(tarp, TARP(draws, exact, Reference(mean, one, rng), one, rng))
			first, second = append(first, Rank(xs, exact[0], rng)), append(second, Rank(ys, exact[1], rng))
		}
		for name, ranks := range map[string][]int{"tarp": tarp, "x": first, "y": second} {
			u, err := Uniform(ranks, m, 0.01)
			if want := correlation == 0.9 || name != "tarp"; err != nil || u.Inside != want {
				t.Errorf("correlation %g, %s: inside %v, p %.3g, %v", correlation, name, u.Inside, u.P, err)
			}
		}
	}
}

// Ranks of equal draws are uniform, too.
func TestTies(t *testing.T) {
	rng := random.New(4, "calibration/ties")
	ranks := make([]int, 2000)
	for c := range ranks {
		ranks[c] = Rank(make([]float64, 9), 0, rng)
	}
	if u, err := Uniform(ranks, 9, 0.001); err != nil || !u.Inside {
		t.Errorf("%+v, %v", u, err)
	}
}

// For one rank among one draw P is in closed form: both ranks have γ = 1, so P is 1. For n ranks
// that are all 0 it is 2·2⁻ⁿ.
func TestClosedForm(t *testing.T) {
	for _, n := range []int{1, 2, 10} {
		u, err := Uniform(make([]int, n), 1, 0.05)
		if want := min(1, 2*math.Pow(0.5, float64(n))); err != nil || math.Abs(u.P-want) > 1e-9 {
			t.Errorf("%d ranks of 0 among one draw: p %.6g, %v, want %.6g", n, u.P, err, want)
		}
	}
	for _, bad := range []struct {
		ranks  []int
		m      int
		chance float64
	}{{nil, 1, 0.1}, {[]int{2}, 1, 0.1}, {[]int{-1}, 1, 0.1}, {[]int{0}, 0, 0.1}, {[]int{0}, 1, 0}} {
		if _, err := Uniform(bad.ranks, bad.m, bad.chance); err == nil {
			t.Errorf("%+v are tested", bad)
		}
	}
}
