package diagnostics

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
)

// Bounds of the inflation of a variance by the time step: WarnedInflation is worth a warning,
// at WantedInflation it is negligible beside the error of most chains, and at RefusedInflation
// successive steps of a linear drift have the correlation −0.71: each overshoots by most of
// the one before.
const (
	WarnedInflation  = 0.05
	WantedInflation  = 0.01
	RefusedInflation = 2.5
)

// mostStates are looked at.
const mostStates = 1 << 13

// OfEquation is Of for chains of dX = b(X)dt + σ(X)dW on the line, with warnings. Besides those
// of the chains alone it warns if the equation has no invariant law where the chains are, if
// the law has no moments, and if steps of dt are too large for the drift. It does not warn
// where it cannot tell, and of the equation not where there is no noise.
func OfEquation(b, sigma density.Coefficient, dt float64, samples []float64, chains int) (r Result, warnings []string) {
	r = Of(samples, chains)
	warnings, lawless := about(b, sigma, dt, some(samples))
	if !lawless { // otherwise there is nothing to be mixed
		warnings = append(warnings, r.Warnings()...)
	}
	return r, warnings
}

// about warns of an equation, given states of its chains.
func about(b, sigma density.Coefficient, dt float64, states []float64) (warnings []string, lawless bool) {
	drift, noise := make([]float64, len(states)), make([]float64, len(states))
	b(drift, states)
	sigma(noise, states)
	meanNoise := 0.
	for i, s := range noise {
		if s == 0 && drift[i] == 0 { // at rest, unlike chains that only pass a zero of σ
			return []string{fmt.Sprintf("chains come to rest at x = %.6g, where drift and diffusion are zero", states[i]+0)}, true // +0: not −0
		}
		meanNoise += s * s / float64(len(states))
	}
	if !(meanNoise > 0) {
		return nil, false
	}
	lines, err := density.Visited(b, sigma, states)
	if errors.Is(err, density.ErrNotNormalisable) {
		return []string{fmt.Sprintf("the equation has no invariant law: %s; mean and variance depend on where the chains start and on --steps", err)}, true
	}
	for _, l := range lines {
		var missing string
		switch {
		case math.IsNaN(l.Mean()):
			missing = "mean and no variance"
		case math.IsNaN(l.Variance()):
			missing = "variance"
		default:
			continue
		}
		warnings = append(warnings, fmt.Sprintf("the law has no %s: its density goes as |x|^%.3g; use quantiles instead of those of the samples", missing, -min(l.Left.Decay, l.Right.Decay)))
		break
	}
	if e := Inflation(dt, 1, states, drift, []float64{meanNoise}); e > WarnedInflation {
		warnings = append(warnings, fmt.Sprintf("steps of %g make the variance %s (where the law has several wells, the variance within each); choose --dt %.2g", dt, TooLarge(e), TimeStep(dt, e, WantedInflation)))
	}
	return warnings, false
}

// some are at most mostStates of all, at even distances.
func some(all []float64) []float64 {
	states := make([]float64, min(len(all), mostStates))
	for i := range states {
		states[i] = all[i*len(all)/len(states)]
	}
	return states
}

// TooLarge says by how much an inflated variance is too large.
func TooLarge(inflation float64) string {
	switch {
	case inflation <= 1:
		return fmt.Sprintf("about %.0f %% too large", 100*inflation)
	case inflation < 1000:
		return fmt.Sprintf("about %.2g times as large as it should be", 1+inflation)
	}
	return "many times as large as it should be"
}
