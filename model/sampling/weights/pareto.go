package weights

import (
	"cmp"
	"math"
	"slices"
)

// Bounds of k: with GoodPareto weighted means are as good as their ESS says; from BadPareto on
// weights have no mean, and nothing can be corrected.
const (
	GoodPareto = 0.7
	BadPareto  = 1
)

// fewestTail are the weights that a tail must have more than.
const fewestTail = 4

// Smooth is Pareto-smoothed importance sampling (Vehtari, Simpson, Gelman, Yao and Gabry 2024,
// JMLR 25:72), as ArviZ computes it. A generalised Pareto law is fitted to the largest
// M = ⌈min(n/5, 3√n)⌉ weights above the next one, which are replaced by its quantiles at
// (i − ½)/M, at most the largest weight. k is its shape: moments of the weights of order 1/k and
// more do not exist. k is +∞, and nothing is smoothed, where fewer than five weights are in
// the tail.
func Smooth(logs []float64) (smoothed Weights, k float64, err error) {
	if _, err := FromLogs(logs); err != nil {
		return nil, 0, err
	}
	n := float64(len(logs))
	top := slices.Max(logs)
	values := make([]float64, len(logs))
	for i, v := range logs {
		values[i] = v - top
	}
	order := make([]int, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	tail := int(math.Ceil(math.Min(n/5, 3*math.Sqrt(n))))
	k = math.Inf(1)
	if tail+1 <= len(order) {
		cutoff := max(values[order[len(order)-tail-1]], math.Log(smallest))
		for tail > 0 && !(values[order[len(order)-tail]] > cutoff) { // equal to the cutoff
			tail--
		}
		if tail > fewestTail {
			last := order[len(order)-tail:]
			above := make([]float64, tail)
			for i, at := range last {
				above[i] = math.Exp(values[at]) - math.Exp(cutoff)
			}
			var sigma float64
			k, sigma = fitPareto(above)
			if !math.IsNaN(k) && !math.IsInf(k, 0) && sigma > 0 {
				for i, at := range last {
					q := paretoQuantile((float64(i)+0.5)/float64(tail), k, sigma)
					values[at] = min(math.Log(q+math.Exp(cutoff)), 0)
				}
			}
		}
	}
	smoothed, err = FromLogs(values)
	return smoothed, k, err
}

// smallest is the smallest normal number.
const smallest = 0x1p-1022

// fitPareto fits the generalised Pareto law with the distribution function
// 1 − (1 + kx/σ)^(−1/k) to rising numbers x > 0 (Zhang and Stephens 2009,
// doi:10.1198/tech.2009.08017), with the weakly informative prior of ArviZ: ten observations of
// k = ½.
func fitPareto(x []float64) (k, sigma float64) {
	const priorScale, priorWeight = 3, 10
	n := len(x)
	candidates := 30 + int(math.Sqrt(float64(n)))
	shape := func(b float64) (k float64) {
		for _, v := range x {
			k += math.Log1p(-b*v) / float64(n)
		}
		return k
	}
	b, logs := make([]float64, candidates), make([]float64, candidates)
	for i := range b {
		b[i] = 1 - math.Sqrt(float64(candidates)/(float64(i)+0.5))
		b[i] /= priorScale * x[int(float64(n)/4+0.5)-1]
		b[i] += 1 / x[n-1]
		k := shape(b[i])
		logs[i] = float64(n) * (math.Log(-b[i]/k) - k - 1)
	}
	var mean, total float64
	for i, l := range logs {
		var others float64
		for _, m := range logs {
			others += math.Exp(m - l)
		}
		if w := 1 / others; w >= 10*0x1p-52 {
			mean += w * b[i]
			total += w
		}
	}
	mean /= total
	k = shape(mean)
	sigma = -k / mean
	return (float64(n)*k + priorWeight*0.5) / (float64(n) + priorWeight), sigma
}

// paretoQuantile is the u-quantile of the generalised Pareto law.
func paretoQuantile(u, k, sigma float64) float64 {
	if math.Abs(k) < 1e-12 {
		return -sigma * math.Log1p(-u)
	}
	return sigma * math.Expm1(-k*math.Log1p(-u)) / k
}
