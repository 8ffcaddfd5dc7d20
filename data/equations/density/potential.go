package density

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Potential returns U = −log p at the nodes of the grid, up to the constant with
// which the least of them is 0:
//
//	U = 2 log σ − ∫ 2b/σ² dx
//
// It refuses what New refuses but for drifts that do not point inward, of which
// U is still defined. A cell costs some hundred nanoseconds.
func Potential(c sde.Coefficients) ([]float64, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	_, step, err := rises(c)
	if err != nil {
		return nil, err
	}
	u, top := anchor(c, step)
	for i, phi := range u {
		u[i] = top - phi + 2*math.Log(float64(c.Diffusion[i]))
	}
	return u, nil
}
