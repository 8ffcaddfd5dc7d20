package flow

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// derivation appends to dst what follows from drift and diffusion on a grid of
// the line, one value for each node. Lengths are in units of scale.
type derivation func(dst []float32, c sde.Coefficients, scale float64) ([]float32, error)

// derivations are of inputs that are stored nowhere. Their scale is fixed, so that no
// normalisation of the training set is needed.
var derivations = map[string]derivation{
	"potential": potential,
	"score":     score,
}

// potential is log(1 + U)/2 − 1, U = −log p above its least value on the nodes. The
// logarithm keeps both apart: wells that differ by little, and, for samples of
// chains that have not found the deepest well, barriers of hundreds.
func potential(dst []float32, c sde.Coefficients, _ float64) ([]float32, error) {
	u, err := density.Potential(c)
	for _, v := range u {
		dst = append(dst, float32(math.Log1p(v)/2-1))
	}
	return dst, err
}

// score is arsinh(s)/4 of s = (log p)′ = 2b/σ² − 2σ′/σ, which spans orders of
// magnitude. A potential has no unit.
func score(dst []float32, c sde.Coefficients, scale float64) ([]float32, error) {
	if err := c.Validate(); err != nil {
		return dst, err
	}
	for i := range c.Grid.N {
		lo, hi := max(i-1, 0), min(i+1, c.Grid.N-1)
		slope := math.Log(float64(c.Diffusion[hi])/float64(c.Diffusion[lo])) / (c.Grid.At(hi) - c.Grid.At(lo))
		sigma := float64(c.Diffusion[i])
		s := 2*float64(c.Drift[i])/(sigma*sigma) - 2*slope
		dst = append(dst, float32(math.Asinh(s*scale)/4))
	}
	return dst, nil
}
