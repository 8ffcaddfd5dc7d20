package diagnostics

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
)

// Bounds of the inflation of a variance by the time step: WarnedInflation is worth a warning,
// at WantedInflation it is negligible beside the error of most chains, and at
// RefusedInflation, a fourfold variance, successive steps of a linear drift have the
// correlation −0.75.
const (
	WarnedInflation  = 0.05
	WantedInflation  = 0.01
	RefusedInflation = 3.
)

// mostStates are looked at.
const mostStates = 1 << 13

// Equation says why states of chains, simulated with steps of dt, may not be from an invariant
// law of dX = b(X)dt + σ(X)dW on the line: there is none, it has no moments, or the step is too
// large for the drift. It says nothing where it cannot tell, and without noise.
func Equation[T float32 | float64](b, sigma density.Coefficient, dt float64, chains []T) (warnings []string) {
	states := some(chains)
	drift, noise := make([]float64, len(states)), make([]float64, len(states))
	b(drift, states)
	sigma(noise, states)
	meanNoise := 0.
	for i, s := range noise {
		if s == 0 && drift[i] == 0 { // at rest, unlike chains that only pass a zero of σ
			return []string{fmt.Sprintf("chains come to rest at x = %.6g, where drift and diffusion are zero", states[i]+0)} // +0: not −0
		}
		meanNoise += s * s / float64(len(states))
	}
	if !(meanNoise > 0) {
		return nil
	}
	lines, err := density.Visited(b, sigma, states)
	if errors.Is(err, density.ErrNotNormalisable) {
		return []string{fmt.Sprintf("the equation has no invariant law: %s; mean and variance depend on where the chains start and on --steps", err)}
	}
	for _, l := range lines {
		missing := ""
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
		warnings = append(warnings, fmt.Sprintf("steps of %g make the variance about %s too large, in a law of several wells that of a well; choose --dt %.2g", dt, Percent(e), TimeStep(dt, e, WantedInflation)))
	}
	return warnings
}

// some are at most mostStates of all, at even distances.
func some[T float32 | float64](all []T) []float64 {
	states := make([]float64, min(len(all), mostStates))
	for i := range states {
		states[i] = float64(all[i*len(all)/len(states)])
	}
	return states
}

// Percent writes an inflation for people.
func Percent(inflation float64) string {
	if inflation > 100 || math.IsNaN(inflation) {
		return "many times"
	}
	return fmt.Sprintf("%.0f %%", 100*inflation)
}
