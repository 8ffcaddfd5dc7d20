// Package observables compares laws of indistinguishable particles in the plane
// by quantities that do not depend on the numbering of particles: features of states,
// pair correlation, marginals and energies. A comparison of coordinates would have to
// pair particles, and in 64 dimensions a Gaussian without any interaction scores well
// in it.
//
// A state of n particles is (x₁, y₁, …, x_n, y_n); states follow one another.
// Work is spread over GOMAXPROCS goroutines that end before a function returns;
// results do not depend on their number.
package observables

import (
	"fmt"
	"math"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// MinParticles is the smallest number of particles that has all features: two have a
// single distance, whose standard deviation is 0.
const MinParticles = 3

// Observed are the observables of a set of states of one system.
type Observed struct {
	Particles int
	States    int
	Features  []float64 // [States, FeatureCount], as FeatureNames names them; after Thin of fewer states
	Energies  []float32 // potential energy of each state, for all particles together
	Radial    RadialHistogram
}

// Thin keeps the features of so many states, at even distances: those of all take more memory
// than the states of a few particles.
func (o *Observed) Thin(states int) {
	states = min(states, o.States)
	features := make([]float64, 0, states*FeatureCount)
	for k := range states {
		at := k * o.States / states * FeatureCount
		features = append(features, o.Features[at:at+FeatureCount]...)
	}
	o.Features = features
}

// blockStates is the number of states that a goroutine takes at a time.
const blockStates = 64

// Observe computes the observables of states [N, 2·particles], Radial with distances in
// units of length unit. energy is the potential energy of a state; several goroutines call
// it at once. Errors are metrics.ErrEmpty, ErrShape and ErrNonFinite, the last also for
// energies.
func Observe(states []float32, particles int, unit float64, energy func(state []float32) float64) (*Observed, error) {
	n, err := countStates(states, particles)
	if err != nil {
		return nil, fmt.Errorf("observe particles: %w", err)
	}
	o := &Observed{Particles: particles, States: n, Features: make([]float64, n*FeatureCount), Energies: make([]float32, n)}
	blocks := (n + blockStates - 1) / blockStates
	workers := min(runtime.GOMAXPROCS(0), blocks)
	parts := make([]RadialHistogram, workers)
	var next atomic.Int64
	var group sync.WaitGroup
	for w := range workers {
		group.Go(func() {
			pairs := newPairs(particles)
			for {
				first := (int(next.Add(1)) - 1) * blockStates
				if first >= n {
					return
				}
				for i := first; i < min(first+blockStates, n); i++ {
					state := states[i*2*particles : (i+1)*2*particles]
					o.Energies[i] = float32(energy(state))
					pairs.measure(state)
					parts[w].count(pairs.distances, unit)
					pairs.features(o.Features[i*FeatureCount:(i+1)*FeatureCount], state, float64(o.Energies[i]))
				}
			}
		})
	}
	group.Wait()
	for _, p := range parts { // integers: their sum does not depend on the order
		o.Radial.Add(p)
	}
	for i, e := range o.Energies {
		if e-e != 0 {
			return nil, fmt.Errorf("observe particles: state %d has the energy %v: %w", i, e, metrics.ErrNonFinite)
		}
	}
	return o, nil
}

// countStates validates states and returns their number.
func countStates(states []float32, particles int) (int, error) {
	switch {
	case particles < MinParticles || particles > sde.MaxParticles:
		return 0, fmt.Errorf("%d particles are outside %d to %d: %w", particles, MinParticles, sde.MaxParticles, metrics.ErrShape)
	case len(states) == 0:
		return 0, metrics.ErrEmpty
	case len(states)%(2*particles) != 0:
		return 0, fmt.Errorf("%d coordinates are not states of %d particles in the plane: %w", len(states), particles, metrics.ErrShape)
	case len(states)/(2*particles) > metrics.MaxPoints:
		return 0, fmt.Errorf("%d states are more than %d: %w", len(states)/(2*particles), metrics.MaxPoints, metrics.ErrShape)
	}
	for i, v := range states {
		if v-v != 0 {
			return 0, fmt.Errorf("state %d, coordinate %d is %v: %w", i/(2*particles), i%(2*particles), v, metrics.ErrNonFinite)
		}
	}
	return len(states) / (2 * particles), nil
}

// moments are the mean and the standard deviation, whose divisor is the number of
// values.
func moments[T float32 | float64](values []T) (mean, std float64) {
	for _, v := range values {
		mean += float64(v)
	}
	mean /= float64(len(values))
	var squares float64
	for _, v := range values {
		d := float64(v) - mean
		squares += d * d
	}
	return mean, math.Sqrt(squares / float64(len(values)))
}
