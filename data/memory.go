package data

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// PilotRun warns of a burn-in after which the memory of chains is more than warnedMemory, and
// names one after which it would be wantedMemory. With the paper's burn-in vn1d has 0.23, since
// some of its functions have several wells, cn2d 0.04 and rare1d 0.03.
const (
	warnedMemory = 0.5
	wantedMemory = 0.1
)

// memory is which part of where chains are in the middle of their burn-in is left at its end:
// the regression of the states at the end on those in the middle, over the chains, of the axis
// that remembers most, as the mean over the first functions. On a domain with ends the axes are
// those of features (package lift). Chains with the relaxation time τ have exp(−T/2τ) for a burn-in
// T, whatever their start and the unit of time, and chains that diffuse freely have 1. A longer
// burn-in than the pilot run's is extrapolated at the same rate.
func (d Dataset) memory(ctx context.Context, f family.Family, s simulate.Scheme) (float64, error) {
	lag := min(s.BurnIn, pilotSteps) / 2
	if lag == 0 {
		return 1, nil
	}
	longer := float64(s.BurnIn/2) / float64(lag)
	s.BurnIn, s.Thin, s.Chains = lag, lag, pilotChains
	dim := f.Dim()
	width := 2 * pilotChains * dim
	states := make([]float32, pilotFunctions*width)
	spec := family.SampleSpec{Count: pilotFunctions, Seed: d.Seed, Scheme: s, Purpose: pilotPurpose}
	if err := family.Sample(ctx, f, states, spec, simulate.Fastest(), nil); err != nil {
		return 0, err
	}
	if spatial, ok := f.(family.Spatial); ok {
		s := sde.Space{Box: spatial.Box(), Domain: spatial.Domain()}
		states, dim = featured(states, s), len(lift.Features(s))
		width = 2 * pilotChains * dim
	}
	mean := 0.
	for i := range pilotFunctions {
		most := 0.
		for k := range dim {
			most = max(most, regression(states[i*width:][:width], dim, k))
		}
		mean += math.Pow(most, longer) / pilotFunctions
	}
	return mean, nil
}

// regression is the slope of the second on the first of the two states [chains, 2, dim] of
// every chain along axis k, between 0 and 1; 0 where the first do not vary.
func regression(states []float32, dim, k int) float64 {
	var sum [2]float64
	n := float64(len(states) / (2 * dim))
	for at := k; at < len(states); at += 2 * dim {
		sum[0] += float64(states[at])
		sum[1] += float64(states[at+dim])
	}
	var xx, xy float64
	for at := k; at < len(states); at += 2 * dim {
		x, y := float64(states[at])-sum[0]/n, float64(states[at+dim])-sum[1]/n
		xx, xy = xx+x*x, xy+x*y
	}
	if xx == 0 {
		return 0
	}
	return min(max(xy/xx, 0), 1)
}

// memoryWarning is empty if the burn-in is long enough.
func memoryWarning(memory float64, part simulatedPart, family string) string {
	if memory <= warnedMemory {
		return ""
	}
	s := part.scheme
	text := fmt.Sprintf("%s: chains of %s remember their start after %d steps of %g: %.0f %% of where they are in the middle of the burn-in is left at its end",
		part.path(), family, s.BurnIn, s.DT, 100*memory)
	if s.BurnIn == 0 {
		return text
	}
	longer := math.Log(wantedMemory) / math.Log(min(memory, 0.999))
	steps := float64(s.BurnIn) * longer
	unit := math.Pow(10, math.Floor(math.Log10(steps))-1) // two digits are enough
	return text + fmt.Sprintf("; a burn_in of %.0f steps would do, or a dt that is %.2g times as large", math.Ceil(steps/unit)*unit, longer)
}
