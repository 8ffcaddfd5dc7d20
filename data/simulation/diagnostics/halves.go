package diagnostics

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/dsp/fourier"
	"gonum.org/v1/gonum/stat"
)

// halves are m half chains of n values: their moments and mean autocovariance.
type halves struct {
	n        int
	m        int
	within   float64   // W, the mean of the variances
	between  float64   // B/n, the variance of the means
	chains   float64   // variance of the means of whole chains
	acov     []float64 // mean autocovariance by lag, biased (divided by n)
	constant bool      // all values are equal, up to rounding
}

func newHalves(x []float64, n int) halves {
	h := halves{n: n, m: len(x) / n}
	size := 1 // long enough that no lag wraps around
	for size < 2*n {
		size *= 2
	}
	fft := fourier.NewFFT(size)
	padded, power := make([]float64, size), make([]complex128, size/2+1)
	var coefficients []complex128
	means := make([]float64, h.m)
	least, most := math.Inf(1), math.Inf(-1)
	for c := range h.m {
		part := x[c*n:][:n]
		low, high := slices.Min(part), slices.Max(part)
		least, most = min(least, low), max(most, high)
		means[c] = stat.Mean(part, nil)
		if low == high {
			means[c] = low // without rounding, which would be a variance within the half chain
		}
		for t, v := range part {
			padded[t] = v - means[c]
		}
		coefficients = fft.Coefficients(coefficients, padded)
		for k, v := range coefficients {
			power[k] += complex(real(v)*real(v)+imag(v)*imag(v), 0)
		}
	}
	h.acov = fft.Sequence(nil, power)[:n]
	scale := 1 / (float64(size) * float64(n) * float64(h.m))
	for t := range h.acov {
		h.acov[t] *= scale
	}
	h.constant = most-least <= resolution*max(math.Abs(least), math.Abs(most))
	h.within = h.acov[0] * float64(n) / float64(n-1)
	h.between = stat.Variance(means, nil)
	for c := 0; c < h.m; c += 2 {
		means[c/2] = (means[c] + means[c+1]) / 2
	}
	h.chains = stat.Variance(means[:h.m/2], nil)
	return h
}

// rhat is √(((n−1)/n·W + B/n)/W), NaN if all values are equal.
func (h halves) rhat() float64 {
	return math.Sqrt((h.between*float64(h.n)/h.within + float64(h.n) - 1) / float64(h.n))
}

// resolution of float64, as NumPy rounds it. ArviZ takes values as equal whose difference is
// below it, here it is relative to their size: the unit of x should not matter.
const resolution = 1e-15

// fewestLags is the length of half chains from which Geyer's sequence has a second pair. Of
// shorter ones ArviZ finds no correlation at all, and an ESS of n·log₁₀ n.
const fewestLags = 5

// ess is the effective sample size of all values. Of very short chains it is how much less
// the means of chains vary than the values do, times the number of chains: NaN for one.
func (h halves) ess() float64 {
	total := float64(h.n) * float64(h.m)
	if h.constant {
		return total
	}
	if h.n < fewestLags {
		variance := h.within*float64(h.n-1)/float64(h.n) + h.between
		return min(float64(h.m)/2*variance/h.chains, total*math.Log10(total))
	}
	return total / max(h.correlationTime(h.between), 1/math.Log10(total))
}

// excess is the variance of the means over its value in equilibrium, W·τ/n with the
// correlation time τ within half chains.
func (h halves) excess() float64 {
	return h.between * float64(h.n) / (h.within * max(h.correlationTime(0), 1/math.Log10(float64(h.n)*float64(h.m))))
}

// correlationTime is −1 + 2Σρ over Geyer's initial monotone sequence of autocorrelations, in
// which the variance of the means, between, adds to that within.
func (h halves) correlationTime(between float64) float64 {
	n := h.n
	total := h.within*float64(n-1)/float64(n) + between
	rho := make([]float64, n+1)
	at := func(t int) float64 { return 1 - (h.within-h.acov[t])/total }
	even, odd := 1., at(1)
	rho[0], rho[1] = even, odd
	t := 1
	for ; t < n-3 && even+odd > 0; t += 2 {
		if even, odd = at(t+1), at(t+2); even+odd >= 0 {
			rho[t+1], rho[t+2] = even, odd
		}
	}
	last := t - 2
	if even > 0 {
		rho[last+1] = even
	}
	for t := 1; t <= last-2; t += 2 {
		if rho[t+1]+rho[t+2] > rho[t-1]+rho[t] {
			rho[t+1] = (rho[t-1] + rho[t]) / 2
			rho[t+2] = rho[t+1]
		}
	}
	sum := 0.
	for _, v := range rho[:last+1] {
		sum += v
	}
	return -1 + 2*sum + rho[last+1]
}
