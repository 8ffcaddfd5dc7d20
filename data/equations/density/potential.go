package density

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Potential returns U = −log p at the nodes of the grid, shifted so that the least value
// is 0:
//
//	U = 2 log σ − ∫ 2b/σ² dx
//
// It refuses what New refuses, except drifts that do not point inward: their U is defined.
// A cell takes a few hundred nanoseconds.
func Potential(c sde.Coefficients) ([]float64, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	_, step, err := cellSteps(c)
	if err != nil {
		return nil, err
	}
	u, top := anchor(c, step)
	for i, phi := range u {
		u[i] = top - phi + 2*math.Log(float64(c.Diffusion[i]))
	}
	return u, nil
}
