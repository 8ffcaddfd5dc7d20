package probe

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Scale is the standard deviation by which a feature is divided.
type Scale string

// Scales of features. Which one works depends on the motion of the probes:
// docs/decisions/probe-scale.md.
const (
	// OverRows is the deviation over all rows of all functions.
	OverRows Scale = "over rows"
	// BetweenFunctions is the smaller of that and the deviation from function to
	// function at one place,
	//
	//	s² = mean over places x of Var over functions i of a_i(x),
	//
	// if the feature differs between functions at all. This scale is the size of the
	// differences between functions, and OverRows may be far larger: in the paper's 2D
	// family the well, the same for all functions, pulls with up to 50, compared with
	// fields of deviation 1. The places are the starts of the probes of function 0.
	BetweenFunctions Scale = "between functions"
)

// Standards are the mean and the scale of each feature, over functions with these numbers.
// Networks read features standardised by them. The mean is over all rows. A constant feature
// has the scale 1.
//
// Functions are made on GOMAXPROCS goroutines, on whose number the result does not depend.
func (c Config) Standards(
	ctx context.Context, functions []int, system func(i int) (sde.System, error), seed uint64, purpose string, scale Scale,
) ([]shard.Standard, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if len(functions) == 0 {
		return nil, errors.New("standards of no functions")
	}
	starts := c
	starts.Steps = 1
	buffers := sync.Pool{New: func() any { return new([]float32) }}
	parts := make([][]shard.Moments, len(functions))
	var places [][]float32 // rows of every function at the same starts
	if scale == BetweenFunctions {
		places = make([][]float32, len(functions))
	}
	err := simulate.Each(ctx, len(functions), func(_ context.Context, i int) error {
		s, err := system(functions[i])
		if err != nil {
			return err
		}
		rows := buffers.Get().(*[]float32)
		defer buffers.Put(rows)
		if len(*rows) == 0 {
			*rows = make([]float32, c.Size())
		}
		if err := c.Fill(*rows, s, seed, purpose, uint64(functions[i])); err != nil {
			return err
		}
		parts[i] = sums(*rows, c.Features())
		if places == nil {
			return nil
		}
		places[i] = make([]float32, starts.Size())
		return starts.Fill(places[i], s, seed, purpose, 0)
	}, nil)
	if err != nil {
		return nil, err
	}
	between := make([]float64, c.Features()) // variances; 0: use that over rows
	if places != nil {
		between = acrossFunctions(places, c.Features())
	}
	standards := make([]shard.Standard, c.Features())
	for k := range standards {
		var total shard.Moments
		for _, part := range parts { // in order: floating-point sums depend on it
			total.Merge(part[k])
		}
		variance := total.Variance()
		if between[k] > 0 {
			variance = min(variance, between[k])
		}
		if variance == 0 {
			variance = 1
		}
		standards[k] = shard.Standard{Mean: total.Mean(), Std: math.Sqrt(variance)}
	}
	return standards, nil
}

// acrossFunctions is the variance of every feature over the functions, averaged over rows,
// which are at the same places for all functions.
func acrossFunctions(functions [][]float32, features int) []float64 {
	between := make([]float64, features)
	rows := len(functions[0]) / features
	for at := range functions[0] {
		var here shard.Moments
		for _, f := range functions {
			here.Add(f[at])
		}
		between[at%features] += here.Variance() / float64(rows)
	}
	return between
}

// sums are the moments of every feature over rows.
func sums(rows []float32, features int) []shard.Moments {
	m := make([]shard.Moments, features)
	for ; len(rows) > 0; rows = rows[features:] {
		for k, v := range rows[:features] {
			m[k].Add(v)
		}
	}
	return m
}
