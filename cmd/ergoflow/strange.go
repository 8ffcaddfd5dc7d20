package main

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// unseen says where formulas, on the finer grid, are far from what the model sees.
func unseen(table, fine sde.System) []string {
	var warnings []string
	for _, m := range family.Misses(table, fine) {
		warnings = append(warnings, m.String()+": the model does not see it there")
	}
	return warnings
}

// familiar is how many standard deviations from the mean of the training set's
// values the values of an equation may be before that is worth a warning. Of vn1d's
// own functions none is that far, of rare1d's one in thirty.
const familiar = 6

// unfamiliar says which of an equation's coefficients are far from those that the
// model has seen.
func unfamiliar(c sde.Coefficients, trained shard.Normalisation) []string {
	var warnings []string
	for _, field := range []struct {
		name     string
		values   []float32
		distance func(value float64, s shard.Standard) float64
	}{{"drift", c.Drift, fromMean}, {"diffusion", c.Diffusion, fromMeanOfSizes}} {
		standard, ok := trained[field.name]
		if !ok {
			continue
		}
		far, at := 0.0, 0
		for i, v := range field.values {
			if d := field.distance(float64(v), standard); d > far {
				far, at = d, i
			}
		}
		if far > familiar {
			warnings = append(warnings, fmt.Sprintf("the %s is %.4g at x = %.4g, %.3g standard deviations from the training set's mean: the model has hardly seen such, and its samples may be wrong",
				field.name, field.values[at], c.Grid.At(at), far))
		}
	}
	return warnings
}

// fromMean is in standard deviations.
func fromMean(value float64, s shard.Standard) float64 { return math.Abs(value-s.Mean) / s.Std }

// fromMeanOfSizes is for what is positive. Below the mean it compares logarithms, as if
// they were normal, since zero itself is but a few standard deviations away.
func fromMeanOfSizes(value float64, s shard.Standard) float64 {
	if value >= s.Mean || s.Mean <= 0 {
		return fromMean(value, s)
	}
	variance := math.Log1p(s.Std * s.Std / (s.Mean * s.Mean)) // of the logarithms
	return math.Abs(math.Log(value/s.Mean)+variance/2) / math.Sqrt(variance)
}
