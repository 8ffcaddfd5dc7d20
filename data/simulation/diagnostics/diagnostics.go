// Package diagnostics tells from the samples of several chains whether the chains have mixed
// and how many independent draws their samples are worth: rank-normalised split R-hat, bulk
// and tail effective sample size (ESS), and the Monte Carlo standard error (MCSE) of the mean
// (Vehtari, Gelman, Simpson, Carpenter and Bürkner 2021, doi:10.1214/20-BA1221).
package diagnostics

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Result has NaN for what cannot be computed: with fewer than 4 samples a chain everything,
// of a single chain of fewer than 10 the ESS and the MCSE, and R-hat where all samples are
// equal. R-hat is infinite where chains do not move but differ.
type Result struct {
	RHat     float64 // 1 in equilibrium; the larger of that of ranks and of folded ranks
	ESSBulk  float64 // of the ranks: how well the mean is known
	ESSTail  float64 // of the 5 % and the 95 % quantile, the smaller one
	MCSEMean float64 // standard error of the mean
	// excess is by how much the means of the half chains vary more than the autocorrelation
	// within them explains, 1 in equilibrium.
	excess              float64
	draws, halves, half int // of each chain, number of half chains, and of draws in each
}

// Bounds of the work, half a second: of more samples, Of takes every k-th of each chain, but
// at least fewestDraws, and then only the first chains.
const (
	maxValues   = 1 << 18
	fewestDraws = 128
)

// Of computes the diagnostics of samples, [chains, draws]. It is deterministic. ESS of more
// than 256 Ki samples is a lower bound: that of every k-th sample. If it looks at some of the
// chains only, it multiplies their ESS, since chains are independent.
func Of[T float32 | float64](samples []T, chains int) Result {
	draws := len(samples) / chains
	most := max(maxValues/chains, fewestDraws)
	stride := max((draws+most-1)/most, 1)
	kept := draws / stride
	half := kept / 2
	if half < 2 {
		nan := math.NaN()
		return Result{nan, nan, nan, nan, nan, draws, 2 * chains, half}
	}
	used := min(chains, maxValues/kept)
	share := float64(chains) / float64(used)
	all, split := make([]float64, 0, used*kept), make([]float64, 0, 2*used*half)
	for c := range used {
		from := len(all)
		for t := range kept {
			all = append(all, float64(samples[c*draws+t*stride]))
		}
		// Of an odd number of samples, the middle one is in neither half.
		split = append(append(split, all[from:][:half]...), all[len(all)-half:]...)
	}
	r := Result{draws: draws, halves: 2 * used, half: half}
	sorted := slices.Sorted(slices.Values(split))
	folded, median := make([]float64, len(split)), middle(sorted)
	for i, v := range split {
		folded[i] = math.Abs(v - median)
	}
	bulk, spread := newHalves(normalScores(split), half), newHalves(normalScores(folded), half)
	r.RHat = max(bulk.rhat(), spread.rhat())
	r.excess = max(bulk.excess(), spread.excess())
	r.ESSBulk = share * bulk.ess()

	slices.Sort(all)
	r.ESSTail = math.Inf(1)
	for _, p := range []float64{0.05, 0.95} {
		bound := quantile(all, p)
		below := make([]float64, len(split))
		for i, v := range split {
			if v <= bound {
				below[i] = 1
			}
		}
		r.ESSTail = min(r.ESSTail, share*newHalves(below, half).ess())
	}
	r.MCSEMean = stat.StdDev(all, nil) / math.Sqrt(share*newHalves(split, half).ess())
	return r
}

// Bounds of Warnings. In equilibrium R-hat² − 1 is (τ − 1)/n for half chains of n draws with
// the correlation time τ. So the usual bound 1.01 asks for n = 50 τ, which four chains need
// for an ESS of 400, but many short chains do not: 64 chains of n = 10 τ have an R-hat of
// 1.05 and an ESS of 1,280. An R-hat from 1.01 to 1.1 (n = 5 τ) therefore counts if the half
// chains differ by more than their autocorrelation explains.
const (
	suspectRHat  = 1.01
	refusedRHat  = 1.1
	leastESS     = 400
	chance       = 1e-3 // of a false alarm about R-hat between the bounds
	fewestInHalf = 10   // draws whose autocorrelation can be estimated
)

// Mixed reports whether the chains do not contradict that they have forgotten where they
// started. Of chains that are TooShort nothing is known, and it is true.
func (r Result) Mixed() bool {
	switch {
	case r.TooShort() || !(r.RHat > suspectRHat):
		return true
	case r.refused():
		return false
	}
	return r.half < fewestInHalf || !(r.excess > r.excessBound())
}

// TooShort reports whether the chains have too few samples to show whether they have mixed:
// R-hat is large for many short chains in equilibrium, too, if their draws are correlated, and
// the correlation of so few draws is not known. Chains that do not move are not too short.
func (r Result) TooShort() bool {
	return math.IsNaN(r.ESSBulk) || r.half < fewestInHalf && r.refused() && !math.IsInf(r.RHat, 1)
}

// refused reports whether R-hat is beyond what chains of a few correlation times have.
func (r Result) refused() bool { return r.RHat*r.RHat > refusedRHat*refusedRHat+3*r.chanceRHat() }

// Warnings say why nobody should trust the samples. That chains are too short to know is a
// warning, too.
func (r Result) Warnings() (warnings []string) {
	switch {
	case r.TooShort():
		return []string{fmt.Sprintf("chains of so few samples, %d each, do not show whether they have mixed; raise --steps or lower --thin", r.draws)}
	case !r.Mixed():
		return []string{fmt.Sprintf("the chains have not mixed: R-hat is %.3g, and should be near 1; mean and variance depend on where the chains start; raise --burn-in and --steps", r.RHat)}
	case min(r.ESSBulk, r.ESSTail) < leastESS:
		return []string{fmt.Sprintf("the samples are worth few independent draws: ESS is %.0f in the bulk and %.0f in the tails, and should be at least %d; raise --steps or --chains", r.ESSBulk, r.ESSTail, leastESS)}
	}
	return nil
}

// chanceRHat is the standard deviation of R-hat² of independent draws.
func (r Result) chanceRHat() float64 {
	m, n := float64(r.halves), float64(r.half)
	return math.Sqrt(2/m+2/(m*(n-1))) / n
}

// excessBound is exceeded by chance alone with probability chance: the variance of m means
// about their own mean is distributed as χ²/(m−1) with m−1 degrees of freedom. The factor 2 is
// for the autocorrelation, which comes out too small within half chains of few correlation
// times.
func (r Result) excessBound() float64 {
	freedom := float64(r.halves - 1)
	return 2 * distuv.ChiSquared{K: freedom}.Quantile(1-chance) / freedom
}

// normalScores replaces values by normal quantiles of their ranks, Φ⁻¹((rank − ⅜)/(n + ¼));
// equal values share the mean of their ranks.
func normalScores(x []float64) []float64 {
	order := make([]int32, len(x))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortFunc(order, func(a, b int32) int { return cmp.Compare(x[a], x[b]) })
	z, n := make([]float64, len(x)), float64(len(x))
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		rank := float64(i+1+j) / 2
		score := math.Sqrt2 * math.Erfinv(2*(rank-0.375)/(n+0.25)-1)
		for ; i < j; i++ {
			z[order[i]] = score
		}
	}
	return z
}

func middle(sorted []float64) float64 {
	n := len(sorted)
	return (sorted[(n-1)/2] + sorted[n/2]) / 2
}

// quantile is linear between order statistics, as NumPy's.
func quantile(sorted []float64, p float64) float64 {
	at := p * float64(len(sorted)-1)
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[i]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}
