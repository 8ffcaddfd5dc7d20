package observables

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// FeatureCount is the number of features of a state.
const FeatureCount = 13

// FeatureNames names the features, in the order of Observed.Features.
func FeatureNames() []string {
	return []string{
		"energy / n",
		"|centre of mass|²",
		"radius of gyration",
		"pair distance, mean", "pair distance, std",
		"pair distance, 10 %", "pair distance, 30 %", "pair distance, 50 %", "pair distance, 70 %", "pair distance, 90 %",
		"nearest neighbour, mean", "nearest neighbour, std", "nearest neighbour, min",
	}
}

// pairQuantiles are spread evenly over the bulk of the distances.
var pairQuantiles = [...]float64{0.1, 0.3, 0.5, 0.7, 0.9}

// features writes the features of the state whose distances were measured last. With
// c = Σ xᵢ/n, the radius of gyration is (Σ|xᵢ−c|²/n)^½.
func (p *pairs) features(dst []float64, state []float32, energy float64) {
	n := float64(p.particles)
	var cx, cy float64
	for i := range p.particles {
		cx += float64(state[2*i])
		cy += float64(state[2*i+1])
	}
	cx, cy = cx/n, cy/n
	var squares float64
	for i := range p.particles {
		dx, dy := float64(state[2*i])-cx, float64(state[2*i+1])-cy
		squares += dx*dx + dy*dy
	}
	dst[0], dst[1], dst[2] = energy/n, cx*cx+cy*cy, math.Sqrt(squares/n)
	dst[3], dst[4] = moments(p.distances)
	for i, u := range pairQuantiles {
		dst[5+i] = quantile(p.distances, u)
	}
	dst[10], dst[11] = moments(p.nearest)
	dst[12] = slices.Min(p.nearest)
}

// Directions is the number of directions on which FeatureDistance projects. One seed
// has the same directions in all comparisons.
const Directions = 256

// FeatureDistance is the sliced Wasserstein-2 distance, not squared, between the
// features of two sets of states. Each feature is standardised by the target's mean
// and standard deviation, so the unit is standard deviations of the target. It is not
// symmetric. It fails where a feature of the target does not vary.
//
// The paper prints no formula. This one reproduces its floor, the distance between
// halves of simulated targets, and its number for N(0, I):
// docs/decisions/particle-observables.md.
func FeatureDistance(target, x *Observed, seed uint64) (float64, error) {
	a, b, err := standardise(target, x)
	if err != nil {
		return 0, fmt.Errorf("distance of features: %w", err)
	}
	d, err := metrics.SlicedW2(b, a, Directions, seed)
	if err != nil {
		return 0, fmt.Errorf("distance of features: %w", err)
	}
	return d, nil
}

func standardise(target, x *Observed) (a, b metrics.Cloud, err error) {
	if target.Particles != x.Particles {
		return a, b, fmt.Errorf("states of %d and of %d particles: %w", target.Particles, x.Particles, metrics.ErrShape)
	}
	a = metrics.Cloud{N: target.States, D: FeatureCount, X: make([]float32, len(target.Features))}
	b = metrics.Cloud{N: x.States, D: FeatureCount, X: make([]float32, len(x.Features))}
	column := make([]float64, target.States)
	for k, name := range FeatureNames() {
		for i := range column {
			column[i] = target.Features[i*FeatureCount+k]
		}
		mean, std := moments(column)
		if !(std > 0) {
			return a, b, fmt.Errorf("%s is %v in all %d states of the target: %w", name, mean, target.States, ErrConstant)
		}
		for i, v := range column {
			a.X[i*FeatureCount+k] = float32((v - mean) / std)
		}
		for i := range x.States {
			b.X[i*FeatureCount+k] = float32((x.Features[i*FeatureCount+k] - mean) / std)
		}
	}
	return a, b, nil
}
