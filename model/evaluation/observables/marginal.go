package observables

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// marginalBins bins cover the target's mean ± marginalWidth standard deviations. The
// outermost are open, so that a stray particle changes no bin's width.
const (
	marginalBins  = 50
	marginalWidth = 4.0
)

// MarginalKL is the Kullback–Leibler divergence Σ p ln(p/q), in nats, of x's law q of
// one particle's coordinate from the target's, p; the mean over the two axes. target
// and x have one list of states per interaction kernel. It pools the states of all
// kernels and, since particles are indistinguishable, all particles of a state: for
// single coordinates the sampling bias (bins−1)/2·(1/N + 1/M), with N and M
// independent positions, would exceed the differences between laws. Each bin gets
// half a count more (Krichevsky and Trofimov), so that empty ones cost a finite
// amount.
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

// coordinates are those along an axis, of all particles in all states of all kernels.
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

// marginal is the estimated probability of each bin.
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
