package shard

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
)

// Normalisation standardises the coefficients before a network sees them: one
// constant per channel, (x-mean)/std, over all nodes of all training functions.
type Normalisation struct {
	DriftMean     float64 `json:"drift_mean"`
	DriftStd      float64 `json:"drift_std"`
	DiffusionMean float64 `json:"diffusion_mean"`
	DiffusionStd  float64 `json:"diffusion_std"`
}

// Normalise computes it from the manifests of a data set's training shards, in
// any order; held-out shards among them are left out. A channel that is
// constant gets the standard deviation 1.
func Normalise(manifests []Manifest) (Normalisation, error) {
	train := slices.DeleteFunc(slices.Clone(manifests), func(m Manifest) bool { return m.Purpose != Train })
	if len(train) == 0 {
		return Normalisation{}, errors.New("normalisation: no training shards")
	}
	// Sum in the order of the shards: floating-point sums depend on it.
	slices.SortFunc(train, func(a, b Manifest) int { return cmp.Compare(a.Shard, b.Shard) })
	var drift, diffusion Moments
	for i, m := range train {
		if m.Dataset != train[0].Dataset {
			return Normalisation{}, fmt.Errorf("normalisation: shards of two data sets, %s and %s", train[0].Dataset, m.Dataset)
		}
		if i > 0 && m.Shard == train[i-1].Shard {
			return Normalisation{}, fmt.Errorf("normalisation: shard %d occurs twice", m.Shard)
		}
		drift.merge(m.Drift)
		diffusion.merge(m.Diffusion)
	}
	var n Normalisation
	var err error
	if n.DriftMean, n.DriftStd, err = drift.standard(); err != nil {
		return Normalisation{}, fmt.Errorf("normalisation of the drift: %w", err)
	}
	if n.DiffusionMean, n.DiffusionStd, err = diffusion.standard(); err != nil {
		return Normalisation{}, fmt.Errorf("normalisation of the diffusion: %w", err)
	}
	return n, nil
}

func (m *Moments) merge(o Moments) {
	m.Count += o.Count
	m.Sum += o.Sum
	m.SumSq += o.SumSq
}

// standard returns mean and population standard deviation.
func (m Moments) standard() (mean, std float64, err error) {
	if m.Count <= 0 {
		return 0, 0, errors.New("no values")
	}
	n := float64(m.Count)
	mean = m.Sum / n
	variance := m.SumSq/n - mean*mean
	if math.IsNaN(variance) || math.IsInf(variance, 0) || math.IsInf(mean, 0) {
		return 0, 0, fmt.Errorf("moments %+v are not finite", m)
	}
	// What rounding leaves of a constant channel is no scale to divide by.
	if variance <= 1e-12*m.SumSq/n {
		return mean, 1, nil
	}
	return mean, math.Sqrt(variance), nil
}
