package data

import (
	"context"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Overshoots simulates chains of formulas for a moment, as s does with so many steps,
// and reports the correlation of successive steps and whether it is one that Try
// refuses (ErrTimeStep). What cannot be simulated does not overshoot: to say so is up
// to the simulation itself.
func Overshoots(ctx context.Context, engine *simulate.Engine, equation simulate.Equation, s simulate.Scheme, steps int, seed uint64) (correlation float64, yes bool) {
	s.BurnIn, s.Thin, s.Chains = min(steps, trialSteps), 1, trialChains
	states := make([]float32, trialChains*trialStates)
	if err := engine.EulerMaruyamaFunc(ctx, states, equation, s, seed, 0, "trial", nil); err != nil {
		return 0, false
	}
	correlation = turning(states, 1)
	return correlation, correlation < overshooting
}
