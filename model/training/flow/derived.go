package flow

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// derivation computes an input from drift and diffusion on a grid of the line, and
// appends its value at each node to dst.
type derivation func(dst []float32, c sde.Coefficients) ([]float32, error)

// derivations of the inputs that shards do not store. Their scale is fixed, so that
// they need no normalisation by the training set.
var derivations = map[string]derivation{
	"potential": potential,
	"score":     score,
}

// potential is log(1 + U)/2 − 1, with U = −log p less its minimum over the nodes. On
// the logarithmic scale wells whose depths differ little stay distinct, beside
// barriers in the hundreds, which samples of chains that have not found the deepest
// well make possible.
func potential(dst []float32, c sde.Coefficients) ([]float32, error) {
	u, err := density.Potential(c)
	for _, v := range u {
		dst = append(dst, float32(math.Log1p(v)/2-1))
	}
	return dst, err
}

// score is arsinh((log p)′)/4, with (log p)′ = 2b/σ² − 2σ′/σ: the derivative spans
// orders of magnitude.
func score(dst []float32, c sde.Coefficients) ([]float32, error) {
	if err := c.Validate(); err != nil {
		return dst, err
	}
	for i := range c.Grid.N {
		lo, hi := max(i-1, 0), min(i+1, c.Grid.N-1)
		slope := math.Log(float64(c.Diffusion[hi])/float64(c.Diffusion[lo])) / (c.Grid.At(hi) - c.Grid.At(lo))
		sigma := float64(c.Diffusion[i])
		s := 2*float64(c.Drift[i])/(sigma*sigma) - 2*slope
		dst = append(dst, float32(math.Asinh(s)/4))
	}
	return dst, nil
}
