package family

import (
	"fmt"
	"math/rand/v2"

	"github.com/ergoflow/ergoflow/data/equations/grf"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// parameterLaw draws a parameter: one value for all nodes, or one for each.
type parameterLaw func(rng *rand.Rand) []float64

// newLaw parses a law, for a grid in dim dimensions.
func newLaw(text string, grid sde.Grid, dim int) (parameterLaw, error) {
	law, err := random.ParseLaw(text, random.Uniform, random.Normal, random.Field)
	if err != nil {
		return nil, err
	}
	if law.Form != random.Field {
		return func(rng *rand.Rand) []float64 { return []float64{law.Draw(rng)} }, nil
	}
	draw, err := newField(law.A, law.B, grid, dim)
	if err != nil {
		return nil, fmt.Errorf("%.80q: %w", text, err)
	}
	return draw, nil
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
