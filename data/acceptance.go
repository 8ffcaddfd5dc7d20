package data

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

const (
	// warnedAcceptance is the part of MALA's steps below which a smaller time step moves states farther.
	warnedAcceptance = 0.3
	// warnedAcceptanceError is the mean error of the probability of an acceptance from which on the law is
	// not the one that is wanted.
	warnedAcceptanceError = 0.01
)

// acceptanceWarning is empty where steps of the first functions are accepted, and by the right probability.
func (d Dataset) acceptanceWarning(ctx context.Context, f family.Family, part simulatedPart, steps int) (string, error) {
	var errors [pilotFunctions]float64
	least, function, err := d.leastOfPilot(f, func(i int, s sde.System) (float64, error) {
		a, err := simulate.Fastest().Acceptance(ctx, s, part.scheme, steps, d.Seed, uint64(i), pilotPurpose)
		errors[i] = a.Error
		return a.Part, err
	})
	if err != nil {
		return "", err
	}
	settings, dt := strings.Join(part.paths, ".dt and ")+".dt", part.scheme.DT
	if worst := slices.Max(errors[:]); worst > warnedAcceptanceError {
		return fmt.Sprintf("%s: the drift of function %d of %s bends within steps of %g, so that the probabilities by which it accepts them are off by %.2g: choose a smaller %s",
			part.path(), slices.Index(errors[:], worst), f.Name(), dt, worst, settings), nil
	}
	if least >= warnedAcceptance {
		return "", nil
	}
	return fmt.Sprintf("%s: function %d of %s accepts %.0f %% of the steps of %g, so that its states hardly move: choose a smaller %s",
		part.path(), function, f.Name(), 100*least, dt, settings), nil
}

// leastOfPilot is the least of what is measured of the first functions, at most 1, and of which it is.
func (d Dataset) leastOfPilot(f family.Family, measure func(i int, s sde.System) (float64, error)) (least float64, function int, err error) {
	least = 1
	for i := range pilotFunctions {
		of, err := f.Function(d.Seed, i)
		if err != nil {
			return 0, 0, err
		}
		found, err := measure(i, of.System)
		if err != nil {
			return 0, 0, err
		}
		if found < least {
			least, function = found, i
		}
	}
	return least, function, nil
}
