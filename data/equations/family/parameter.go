package family

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"

	"github.com/ergoflow/ergoflow/data/equations/grf"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// parameterLaw draws a parameter: one value for all nodes, or one for each.
type parameterLaw func(rng *rand.Rand) []float64

var lawForm = regexp.MustCompile(`^\s*([a-z]+)\s*\(\s*([^\s,()]+)\s*,\s*([^\s,()]+)\s*\)\s*$`)

// newLaw parses a law, for a grid in dim dimensions.
func newLaw(text string, grid sde.Grid, dim int) (parameterLaw, error) {
	parts := lawForm.FindStringSubmatch(text)
	if parts == nil {
		return nil, fmt.Errorf("%.80q is not a law: must be uniform(lo, hi), normal(mean, deviation) or field(length, deviation)", text)
	}
	var v [2]float64
	for k := range v {
		var err error
		if v[k], err = strconv.ParseFloat(parts[2+k], 64); err != nil || math.IsNaN(v[k]) || math.Abs(v[k]) > 1e30 {
			return nil, fmt.Errorf("%.80q: %.40q is not a number within ±1e30", text, parts[2+k])
		}
	}
	a, b := v[0], v[1]
	switch parts[1] {
	case "uniform":
		if a >= b {
			return nil, fmt.Errorf("%.80q: lo must be below hi", text)
		}
		return func(rng *rand.Rand) []float64 { return []float64{a + (b-a)*rng.Float64()} }, nil
	case "normal":
		if b <= 0 {
			return nil, fmt.Errorf("%.80q: the deviation must be positive", text)
		}
		return func(rng *rand.Rand) []float64 { return []float64{a + b*rng.NormFloat64()} }, nil
	case "field":
		if a <= 0 || b <= 0 {
			return nil, fmt.Errorf("%.80q: length and deviation must be positive", text)
		}
		draw, err := newField(a, b, grid, dim)
		if err != nil {
			return nil, fmt.Errorf("%.80q: %w", text, err)
		}
		return draw, nil
	}
	return nil, fmt.Errorf("%.80q: the law %s is unknown: must be uniform, normal or field", text, parts[1])
}

// newField is a Gaussian random field with squared-exponential covariance.
func newField(length, deviation float64, grid sde.Grid, dim int) (parameterLaw, error) {
	n, h := grid.N, grid.Step()
	variance := deviation * deviation
	var field interface {
		Pair(first, second []float64, rng *rand.Rand)
	}
	var err error
	if dim == 1 {
		field, err = grf.NewLine(n, h, grf.SquaredExponential(length, variance))
	} else {
		n *= grid.N
		field, err = grf.NewSquaredExponentialPlane(grid.N, grid.N, h, h, length, variance)
	}
	if err != nil {
		return nil, err
	}
	return func(rng *rand.Rand) []float64 {
		pair := make([]float64, 2*n)
		field.Pair(pair[:n], pair[n:], rng)
		return pair[:n]
	}, nil
}
