package family

import (
	"fmt"
	"math"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/grf"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// vn1d has random drifts in a confining well and random diffusions:
//
//	b = −w′ + s,  w = max(|x|−2, 0)²,  σ = max(¼, 1 + s′)
//
// with independent Gaussian random fields s, s′ of variance 1 and
// squared-exponential covariance of length 1, on 64 nodes of [−5, 5]. Samples
// are Euler–Maruyama chains on the interpolated coefficients.
type vn1d struct{ line }

var vn1dGrid = sde.Grid{Lo: -5, Hi: 5, N: 64}

// vn1dField cannot fail for this grid and kernel.
var vn1dField = sync.OnceValues(func() (*grf.Line, error) {
	return grf.NewLine(vn1dGrid.N, vn1dGrid.Step(), grf.SquaredExponential(1, 1))
})

func (vn1d) Name() string { return "vn1d" }

func (v vn1d) Function(seed uint64, i int) (Function, error) {
	c, err := v.coefficients(seed, i)
	if err != nil {
		return Function{}, err
	}
	return v.function("vn1d", i, c)
}

func (vn1d) coefficients(seed uint64, i int) (sde.Coefficients, error) {
	field, err := vn1dField()
	if err != nil {
		return sde.Coefficients{}, fmt.Errorf("vn1d: %w", err)
	}
	n := vn1dGrid.N
	s := make([]float64, 2*n)
	field.Pair(s[:n], s[n:], random.New(seed, "vn1d/coefficients", uint64(i)))
	c := sde.Coefficients{Grid: vn1dGrid, Drift: make([]float32, n), Diffusion: make([]float32, n)}
	for j := range n {
		x := vn1dGrid.At(j)
		c.Drift[j] = float32(s[j] - math.Copysign(2*max(math.Abs(x)-2, 0), x))
		c.Diffusion[j] = float32(max(0.25, 1+s[n+j]))
	}
	return c, nil
}

// Law is the invariant law of the tabulated coefficients, which are constant outside the
// grid.
func (v vn1d) Law(seed uint64, i int) (Law, error) {
	c, err := v.coefficients(seed, i)
	if err != nil {
		return nil, err
	}
	law, err := density.New(c)
	if err != nil {
		return nil, fmt.Errorf("vn1d function %d: %w", i, err)
	}
	return law, nil
}
