package shard

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
)

// Normalisation standardises the inputs of a network, by the name of the field:
// (x−mean)/std with one mean and one standard deviation over all values of all training
// functions. The names of State standardise the samples, one coordinate each.
type Normalisation map[string]Standard

// Standard is the mean and the population standard deviation of a field.
type Standard struct {
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

// Validate reports numbers that are not finite and deviations that are not
// positive.
func (n Normalisation) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(n)) {
		s := n[name]
		if math.IsNaN(s.Mean-s.Mean) || !(s.Std > 0) || math.IsInf(s.Std, 0) {
			return fmt.Errorf("normalisation of %s: mean %g and standard deviation %g", name, s.Mean, s.Std)
		}
	}
	return nil
}

// Normalise computes the Normalisation of a data set from the manifests of its training
// shards, in any order; it ignores held-out shards. A constant field gets the standard
// deviation 1. The result is empty for a family without fields.
func Normalise(manifests []Manifest) (Normalisation, error) {
	train, err := trainingShards(manifests)
	if err != nil {
		return nil, err
	}
	total := make([]Moments, len(train[0].Fields))
	for _, m := range train {
		for k, f := range train[0].Fields {
			total[k].Merge(m.Moments[f.Name])
		}
	}
	n := make(Normalisation, len(total))
	for k, f := range train[0].Fields {
		s, err := total[k].standard()
		if err != nil {
			return nil, fmt.Errorf("normalisation of %s: %w", f.Name, err)
		}
		n[f.Name] = s
	}
	return n, nil
}

// trainingShards are those of one data set, each once, in the order of their numbers:
// floating-point sums depend on the order.
func trainingShards(manifests []Manifest) ([]Manifest, error) {
	train := slices.DeleteFunc(slices.Clone(manifests), func(m Manifest) bool { return m.Purpose != Train })
	if len(train) == 0 {
		return nil, errors.New("normalisation: no training shards")
	}
	slices.SortFunc(train, func(a, b Manifest) int { return cmp.Compare(a.Shard, b.Shard) })
	for i, m := range train {
		if m.Dataset != train[0].Dataset {
			return nil, fmt.Errorf("normalisation: shards of two data sets, %s and %s", train[0].Dataset, m.Dataset)
		}
		if i > 0 && m.Shard == train[i-1].Shard {
			return nil, fmt.Errorf("normalisation: shard %d occurs twice", m.Shard)
		}
	}
	return train, nil
}

// standard returns mean and population standard deviation.
func (m Moments) standard() (Standard, error) {
	if m.Count <= 0 {
		return Standard{}, errors.New("no values")
	}
	if !m.finite() {
		return Standard{}, fmt.Errorf("moments %+v are not finite", m)
	}
	deviation := math.Sqrt(m.Variance())
	if deviation == 0 {
		deviation = 1
	}
	return Standard{m.Mean(), deviation}, nil
}
