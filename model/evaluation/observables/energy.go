package observables

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// ErrConstant: a scale of the target, by which a comparison divides, is zero.
var ErrConstant = errors.New("no spread")

// Moments are the mean and the standard deviation of a law.
type Moments struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// Energies compares the model's law of the energy with the target's.
type Energies struct {
	Model  Moments `json:"model"`
	Target Moments `json:"target"`
	// RelativeMean and RelativeStd are (model − target)/|target| of the moments.
	RelativeMean float64 `json:"relative_mean"`
	RelativeStd  float64 `json:"relative_std"`
	KS           float64 `json:"ks"` // Kolmogorov–Smirnov statistic, 0 to 1
}

// CompareEnergies pools the energies of the states of all interaction kernels, each
// state with the same weight. target and model have one list per kernel. It fails
// where the target's mean is zero or its energies are all equal.
func CompareEnergies(target, model [][]float32) (Energies, error) {
	a, b := slices.Concat(target...), slices.Concat(model...)
	var e Energies
	var err error
	if e.KS, _, err = metrics.KS(b, a); err != nil {
		return Energies{}, fmt.Errorf("energies: %w", err)
	}
	e.Target.Mean, e.Target.Std = moments(a)
	e.Model.Mean, e.Model.Std = moments(b)
	if e.Target.Mean == 0 || e.Target.Std == 0 {
		return Energies{}, fmt.Errorf("energies: target has mean %v and standard deviation %v: %w", e.Target.Mean, e.Target.Std, ErrConstant)
	}
	e.RelativeMean = (e.Model.Mean - e.Target.Mean) / math.Abs(e.Target.Mean)
	e.RelativeStd = (e.Model.Std - e.Target.Std) / e.Target.Std
	return e, nil
}
