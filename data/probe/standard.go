package probe

import (
	"context"
	"fmt"
	"math"
	"sync"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/shard"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// Standards are the mean and the deviation of each feature over all rows of
// functions 0 … functions−1, by which networks take it: one pair a feature, since
// features have units of their own. A feature that is constant gets the
// deviation 1. Functions are made on GOMAXPROCS goroutines; their number does not
// show in the result.
func (c Config) Standards(
	ctx context.Context, functions int, system func(i int) (sde.System, error), seed uint64, purpose string,
) ([]shard.Standard, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if functions < 1 {
		return nil, fmt.Errorf("standards of %d functions", functions)
	}
	buffers := sync.Pool{New: func() any { return new([]float32) }}
	parts := make([][]moments, functions)
	err := simulate.Each(ctx, functions, func(_ context.Context, i int) error {
		s, err := system(i)
		if err != nil {
			return err
		}
		rows := buffers.Get().(*[]float32)
		defer buffers.Put(rows)
		if len(*rows) == 0 {
			*rows = make([]float32, c.Size())
		}
		if err := c.Fill(*rows, s, seed, purpose, uint64(i)); err != nil {
			return err
		}
		parts[i] = sums(*rows, c.Features())
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	rows := float64(functions) * float64(c.Sensors*c.Steps)
	standards := make([]shard.Standard, c.Features())
	for k := range standards {
		var total moments
		for _, part := range parts { // in order: floating-point sums depend on it
			total.sum += part[k].sum
			total.squares += part[k].squares
		}
		standards[k] = total.standard(rows)
	}
	return standards, nil
}

// moments are sums of a feature and of its square.
type moments struct{ sum, squares float64 }

// sums has those of every feature over rows.
func sums(rows []float32, features int) []moments {
	m := make([]moments, features)
	for ; len(rows) > 0; rows = rows[features:] {
		for k, v := range rows[:features] {
			m[k].sum += float64(v)
			m[k].squares += float64(v) * float64(v)
		}
	}
	return m
}

// standard is that of n values.
func (m moments) standard(n float64) shard.Standard {
	mean := m.sum / n
	variance := m.squares/n - mean*mean
	// What rounding leaves of a constant is no scale to divide by.
	if variance <= 1e-12*m.squares/n {
		return shard.Standard{Mean: mean, Std: 1}
	}
	return shard.Standard{Mean: mean, Std: math.Sqrt(variance)}
}
