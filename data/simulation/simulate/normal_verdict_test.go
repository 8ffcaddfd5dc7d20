package simulate

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mathext"
)

// implausible is the probability below which a statistic speaks against a
// source: with some 9,000 of them in this package, one seed in 100 would have one.
// Seeds are fixed, so that tests pass or fail for ever.
const implausible = 1e-6

// draws is how many of n are drawn: fewer in a short run, as the race detector's
// is, which is slow and has nothing to find here.
func draws(n int) int {
	if testing.Short() {
		return n / 8
	}
	return n
}

// longStatistics skips purely statistical tests in a short run: one goroutine
// draws them, in which the race detector has nothing to find.
func longStatistics(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: statistics of what one goroutine draws")
	}
}

// verdict is the probability of a statistic as far out as the one found, of a
// source that is what it should be.
type verdict struct {
	name string
	p    float64
}

type verdicts []verdict

func (v *verdicts) add(p float64, format string, args ...any) {
	*v = append(*v, verdict{fmt.Sprintf(format, args...), p})
}

// check fails for implausible statistics.
func (v verdicts) check(t *testing.T, source string) {
	t.Helper()
	lowest := slices.MinFunc(v, func(a, b verdict) int {
		if a.p < b.p {
			return -1
		}
		return 1
	})
	t.Logf("%s: %d statistics, the lowest probability is %.2g, of %s", source, len(v), lowest.p, lowest.name)
	for _, s := range v {
		if !(s.p >= implausible) {
			t.Errorf("%s: %s has probability %.2g", source, s.name, s.p)
		}
	}
}

// rejects reports whether the statistic of that name is implausible.
func (v verdicts) rejects(name string) bool {
	return slices.ContainsFunc(v, func(s verdict) bool { return s.name == name && s.p < implausible })
}

// missed describes the result of a test that should have rejected.
func (v verdicts) missed(name string) string {
	for _, s := range v {
		if s.name == name {
			return fmt.Sprintf("%s only has probability %.2g", name, s.p)
		}
	}
	return fmt.Sprintf("no statistic is called %q", name)
}

// twoSided is the probability of a standard normal as far from 0 as z.
func twoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// poisson is the probability of a count as far from its mean, on either side.
func poisson(count int, mean float64) float64 {
	if mean > 1e5 {
		return twoSided((float64(count) - mean) / math.Sqrt(mean))
	}
	p := mathext.GammaIncRegComp(float64(count)+1, mean) // ≤ count
	if count > 0 {
		p = min(p, mathext.GammaIncReg(float64(count), mean)) // ≥ count
	}
	return min(1, 2*p)
}

// binomial is the same for count of n outcomes.
func binomial(count, n int, p float64) float64 {
	mean := float64(n) * p
	if mean < 1000 {
		return poisson(count, mean)
	}
	return twoSided((float64(count) - mean) / math.Sqrt(mean*(1-p)))
}

// chiSquare is the probability of a χ² as far out, on either side: counts that
// agree too well are as bad. Cells have equal probabilities if p is nil.
func chiSquare(counts []int, p []float64) float64 {
	total := 0
	for _, n := range counts {
		total += n
	}
	var sum float64
	for i, n := range counts {
		expected := float64(total) / float64(len(counts))
		if p != nil {
			expected = float64(total) * p[i]
		}
		sum += (float64(n) - expected) * (float64(n) - expected) / expected
	}
	half := float64(len(counts)-1) / 2
	return min(1, 2*min(mathext.GammaIncReg(half, sum/2), mathext.GammaIncRegComp(half, sum/2)))
}

// kolmogorov and andersonDarling are of the empirical distribution function at
// the ends of the cells, which should have equal probabilities: the limits for
// many observations, in the second case that of the upper tail, √3·erfc(√A²):
// A² is Σ Z²ⱼ/(j(j+1)) with normal Z.
func kolmogorov(counts []int) float64 {
	distance := 0.0
	n := edges(counts, func(u, d float64) { distance = max(distance, math.Abs(d)) })
	return min(1, 2*math.Exp(-2*n*distance*distance))
}

func andersonDarling(counts []int) float64 {
	var sum float64
	n := edges(counts, func(u, d float64) { sum += d * d / (u * (1 - u)) })
	return min(1, math.Sqrt(3)*math.Erfc(math.Sqrt(n*sum/float64(len(counts)))))
}

// edges visits the inner ends u of the cells with the difference between the
// empirical distribution function and u. It returns the number of observations.
func edges(counts []int, visit func(u, d float64)) float64 {
	var total, below float64
	for _, n := range counts {
		total += float64(n)
	}
	for i, n := range counts[:len(counts)-1] {
		below += float64(n)
		u := float64(i+1) / float64(len(counts))
		visit(u, below/total-u)
	}
	return total
}

// Probabilities agree with published quantiles (Kolmogorov and Anderson–Darling
// at 1 %: 1.628 and 3.878).
func TestProbabilities(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want float64
	}{
		{"normal", twoSided(1.959964), 0.05},
		{"Poisson, low", poisson(0, 10), 2 * math.Exp(-10)},
		{"Poisson, high", poisson(3, 0.1), 2 * (1 - math.Exp(-0.1)*(1+0.1+0.005))},
		{"binomial", binomial(50_000+310, 100_000, 0.5), twoSided(310 / math.Sqrt(25_000))},
		{"χ² of two cells", chiSquare([]int{5100, 4900}, nil), 2 * twoSided(2)},
		{"χ² too small", chiSquare([]int{300, 600, 99_100}, []float64{0.003, 0.006, 0.991}), 0},
		{"Kolmogorov", kolmogorov([]int{5000 + 162, 5000 - 162}), 2 * math.Exp(-2*1.62*1.62)},
		{"Anderson–Darling", math.Sqrt(3) * math.Erfc(math.Sqrt(3.878)), 0.0093},
	} {
		if !(math.Abs(c.got-c.want) <= 1e-6+0.01*c.want) {
			t.Errorf("%s: %v, want %v", c.name, c.got, c.want)
		}
	}
}
