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

// acceptanceWarning is empty where steps of the first functions are accepted.
func (d Dataset) acceptanceWarning(ctx context.Context, f family.Family, part simulatedPart, steps int) (string, error) {
	least, function, err := d.leastOfPilot(f, func(i int, s sde.Space) (float64, error) {
		return simulate.Fastest().Acceptance(ctx, s, part.scheme, steps, d.Seed, uint64(i), pilotPurpose)
	})
	if err != nil || least >= warnedAcceptance {
		return "", err
	}
	return fmt.Sprintf("%s: function %d of %s accepts %.0f %% of the steps of %g, so that its states hardly move: choose a smaller %s.dt",
		part.path(), function, f.Name(), 100*least, part.scheme.DT, strings.Join(part.paths, ".dt and ")), nil
}

// leastOfPilot is the least of what is measured of the first functions, at most 1, and of which it is.
func (d Dataset) leastOfPilot(f family.Family, measure func(i int, s sde.Space) (float64, error)) (least float64, function int, err error) {
	least = 1
	for i := range pilotFunctions {
		of, err := f.Function(d.Seed, i)
		if err != nil {
			return 0, 0, err
		}
		found, err := measure(i, of.System.(sde.Space))
		if err != nil {
			return 0, 0, err
		}
		if found < least {
			least, function = found, i
		}
	}
	return least, function, nil
}
