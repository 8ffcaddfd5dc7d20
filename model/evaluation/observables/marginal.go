package observables

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// marginalBins cover the target's mean ± marginalWidth standard deviations; the
// outermost are open. So a stray particle changes no bin's width.
const (
	marginalBins  = 50
	marginalWidth = 4.0
)

// MarginalKL is the Kullback–Leibler divergence Σ p ln(p/q), in nats, of the
// target's law p of one particle's coordinate from that of x, q; the mean over
// the two axes. The states of all kernels are pooled; one kernel alone is a list of
// one. All particles of a state are pooled too, since they are indistinguishable:
// the sampling bias (bins−1)/2·(1/N + 1/M), N and M being numbers of independent
// positions, would exceed what there is to see in single coordinates. Bins have
// half a count more than they have (Krichevsky and Trofimov), so that empty ones
// cost a finite amount.
func MarginalKL(target, x [][]float32, particles int) (float64, error) {
	for _, states := range target {
		if _, err := countStates(states, particles); err != nil {
			return 0, fmt.Errorf("divergence of marginals: target: %w", err)
		}
	}
	for _, states := range x {
		if _, err := countStates(states, particles); err != nil {
			return 0, fmt.Errorf("divergence of marginals: %w", err)
		}
	}
	if len(target) == 0 || len(x) == 0 {
		return 0, fmt.Errorf("divergence of marginals: %w", metrics.ErrEmpty)
	}
	var sum float64
	for axis := range 2 {
		mean, std := moments(coordinates(target, axis))
		if !(std > 0) {
			return 0, fmt.Errorf("divergence of marginals: target: all particles have the coordinate %v on axis %d: %w", mean, axis, ErrConstant)
		}
		p, q := marginal(coordinates(target, axis), mean, std), marginal(coordinates(x, axis), mean, std)
		for k := range p {
			sum += p[k] * math.Log(p[k]/q[k])
		}
	}
	return sum / 2, nil
}

// coordinates are those of all particles of all kernels along an axis.
func coordinates(kernels [][]float32, axis int) []float32 {
	var along []float32
	for _, states := range kernels {
		along = slices.Grow(along, len(states)/2)
		for i := axis; i < len(states); i += 2 {
			along = append(along, states[i])
		}
	}
	return along
}

// marginal is the probability of each bin.
func marginal(along []float32, mean, std float64) []float64 {
	p := make([]float64, marginalBins)
	lo, scale := mean-marginalWidth*std, marginalBins/(2*marginalWidth*std)
	for _, v := range along {
		at := (float64(v) - lo) * scale
		p[int(min(max(at, 0), marginalBins-1))]++
	}
	total := float64(len(along)) + marginalBins/2.
	for k := range p {
		p[k] = (p[k] + 0.5) / total
	}
	return p
}
