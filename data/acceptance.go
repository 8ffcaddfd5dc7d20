package data

import (
	"context"
	"fmt"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// warnedAcceptance is the part of MALA's steps below which a smaller time step moves states farther.
const warnedAcceptance = 0.3

// acceptanceWarning is empty where steps of the first functions are accepted, and where the integrator
// accepts all.
func (d Dataset) acceptanceWarning(ctx context.Context, f family.Family, part simulatedPart, steps int) (string, error) {
	if part.scheme.Integrator != simulate.MALA {
		return "", nil
	}
	least, function := 1., 0
	for i := range pilotFunctions {
		of, err := f.Function(d.Seed, i)
		if err != nil {
			return "", err
		}
		accepted, err := simulate.Fastest().Acceptance(ctx, of.System.(sde.Space), part.scheme, steps, d.Seed, uint64(i), pilotPurpose)
		if err != nil {
			return "", err
		}
		if accepted < least {
			least, function = accepted, i
		}
	}
	if least >= warnedAcceptance {
		return "", nil
	}
	return fmt.Sprintf("%s: function %d of %s accepts %.0f %% of the steps of %g, so that its states hardly move: choose a smaller %s.dt",
		part.path(), function, f.Name(), 100*least, part.scheme.DT, strings.Join(part.paths, ".dt and ")), nil
}
