package data

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrLostStep means that the steps of chains are lost in the rounding of their states.
var ErrLostStep = errors.New("steps are lost in the rounding of float64 states")

// float64Resolution is eight times the rounding of a float64 number, relative to it: noise
// below is rounded to a few values.
const float64Resolution = 1. / (1 << 50)

// StepsAreLost simulates that many steps of one equation's chains, at most 5,000. It fails
// (ErrLostStep) if at most of their states the noise of a step is lost in rounding, or, where
// there is no noise, the drift at most of their starts: such chains follow another equation,
// or stay where they are. An equation that cannot be simulated loses nothing; its simulation
// reports why.
func StepsAreLost(ctx context.Context, engine *simulate.Engine, equation simulate.Equation, s simulate.Scheme, steps int, seed uint64) error {
	starts, ok := trial(ctx, engine, equation, s, 0, seed)
	if !ok {
		return nil
	}
	states, ok := trial(ctx, engine, equation, s, steps, seed)
	if !ok {
		return nil
	}
	drift, diffusion := engine.Evaluate(equation, starts)
	for i := range drift {
		drift[i] *= s.DT
		if diffusion[i] != 0 {
			drift[i] = 0
		}
	}
	_, noise := engine.Evaluate(equation, states)
	for i := range noise {
		noise[i] *= math.Sqrt(s.DT)
	}
	for _, part := range []struct {
		name     string
		x, moves []float64
	}{{"noise", states, noise}, {"drift", starts, drift}} {
		moving, lost, last := 0, 0, 0
		for i, move := range part.moves {
			if move == 0 {
				continue
			}
			if moving++; math.Abs(move) < float64Resolution*math.Abs(part.x[i]) {
				lost, last = lost+1, i
			}
		}
		if 2*lost > moving {
			return fmt.Errorf("the %s of a step of %g is %.2g at x = %.4g, where states resolve %.2g: %w",
				part.name, s.DT, math.Abs(part.moves[last]), part.x[last], float64Resolution*math.Abs(part.x[last]), ErrLostStep)
		}
	}
	return nil
}

// trial simulates that many steps of one equation's chains, at most 5,000, and reports whether
// it can.
func trial(ctx context.Context, engine *simulate.Engine, equation simulate.Equation, s simulate.Scheme, steps int, seed uint64) (states []float64, ok bool) {
	s.BurnIn, s.Thin, s.Chains = min(steps, pilotSteps), 1, pilotChains
	states = make([]float64, pilotChains*pilotStates)
	err := engine.EulerMaruyamaFunc(ctx, states, equation, sde.WholeLine, s, seed, 0, pilotPurpose, nil)
	return states, err == nil
}
