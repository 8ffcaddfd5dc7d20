package experiment

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// ErrRunsAway is a written family of which simulations do not stay on its grid.
var ErrRunsAway = errors.New("simulations leave the grid")

const (
	trialFunctions = 16
	trialChains    = 32
	trialSteps     = 5000     // at most: a moment
	trialOutside   = 1. / 10. // of the coordinates; families of docs/families.md have less than 1/1000
)

// tryFamily simulates the first functions of a family that is written, as the
// training set would, before much is made of it: where the time step is too long
// for the drift, or the drift has no invariant law, chains end up beyond the grid,
// where the coefficients are no longer the written ones. The families of the
// program are known to stay.
func (e Experiment) tryFamily(ctx context.Context) error {
	if !strings.HasPrefix(e.Data.Family, "{") || e.Data.Draws == data.Exact {
		return nil
	}
	f, err := family.ByName(e.Data.Family)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrFamily, err)
	}
	grid := f.(interface{ Grid() sde.Grid }).Grid()
	scheme := e.Data.Training
	scheme.BurnIn = min(max(scheme.BurnIn, e.Data.Reference.BurnIn), trialSteps)
	scheme.Chains = trialChains
	x := make([]float32, trialFunctions*trialChains*f.Dim())
	draws := family.Draws{Count: trialFunctions, Seed: e.Data.Seed, Scheme: scheme, Purpose: "trial"}
	if err := family.Sample(ctx, f, x, draws, simulate.Fastest(), nil); err != nil {
		return fmt.Errorf("%w: %w", ErrFamily, err)
	}
	outside := 0
	for _, v := range x {
		if v := float64(v); v < grid.Lo || v > grid.Hi {
			outside++
		}
	}
	if outside > int(trialOutside*float64(len(x))) {
		return fmt.Errorf("%w: %w: after %d steps of %g, %d %% of the coordinates of its first %d functions are outside %g…%g",
			ErrFamily, ErrRunsAway, scheme.BurnIn, scheme.DT, 100*outside/len(x), trialFunctions, grid.Lo, grid.Hi)
	}
	return nil
}
