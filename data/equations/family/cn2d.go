package family

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/grf"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// cn2d has random drifts in a confining well of the plane and constant noise:
//
//	b = g + w,  w = −10 max(|x|−2, 0) x/|x|,  σ = √2·I
//
// where the components of g are independent Gaussian random fields of variance 1
// and squared-exponential covariance of one length ℓ ~ U(0.3, 2), on 32×32 nodes
// of [−5, 5]², end points included. The whole drift, well included, is bilinear between
// nodes, so the values at the nodes define the equation completely. Samples are
// Euler–Maruyama chains.
//
// The paper gives neither the amplitude of the field nor the form of the well.
type cn2d struct{}

var cn2dAxis = sde.Grid{Lo: -5, Hi: 5, N: 32}

const (
	cn2dShortest, cn2dLongest = 0.3, 2 // lengths of the fields
	cn2dRadius                = 2      // the well is flat inside
	cn2dStrength              = 10
)

func (cn2d) Name() string { return "cn2d" }

func (cn2d) Dim() int { return 2 }

// Fields is the drift at the nodes, [y, x, component] as in sde.Plane.
func (cn2d) Fields() []Field {
	return []Field{{Name: "drift", Shape: []int{cn2dAxis.N, cn2dAxis.N, 2}}}
}

func (c cn2d) Function(seed uint64, i int) (Function, error) {
	rng := random.New(seed, "cn2d/coefficients", uint64(i))
	length := cn2dShortest + (cn2dLongest-cn2dShortest)*rng.Float64()
	n, h := cn2dAxis.N, cn2dAxis.Step()
	field, err := grf.NewSquaredExponentialPlane(n, n, h, h, length, 1)
	if err != nil {
		return Function{}, fmt.Errorf("cn2d function %d: field of length %.6g: %w", i, length, err)
	}
	g := make([]float64, 2*n*n)
	gx, gy := g[:n*n], g[n*n:]
	field.Pair(gx, gy, rng)
	drift := make([]float32, 2*n*n)
	for k := range gx {
		wx, wy := cn2dWell(cn2dAxis.At(k%n), cn2dAxis.At(k/n))
		drift[2*k], drift[2*k+1] = float32(gx[k]+wx), float32(gy[k]+wy)
	}
	f, err := c.Restore([][]float32{drift})
	if err != nil {
		return Function{}, fmt.Errorf("cn2d function %d: %w", i, err)
	}
	return f, nil
}

// cn2dWell is w(x, y).
func cn2dWell(x, y float64) (wx, wy float64) {
	r := math.Sqrt(float64(x*x) + float64(y*y))
	if r <= cn2dRadius {
		return 0, 0
	}
	pull := -cn2dStrength * (r - cn2dRadius) / r
	return pull * x, pull * y
}

// Restore makes the function with this drift.
func (c cn2d) Restore(fields [][]float32) (Function, error) {
	if len(fields) != 1 {
		return Function{}, fmt.Errorf("%d fields: must be the drift only", len(fields))
	}
	p := sde.Plane{X: cn2dAxis, Y: cn2dAxis, Drift: fields[0], Diffusion: []float32{math.Sqrt2}}
	if err := p.Validate(); err != nil {
		return Function{}, err
	}
	return Function{System: p, Fields: fields}, nil
}

func (cn2d) Grid() sde.Grid { return cn2dAxis }

// Of accepts any drift on the grid, with the diffusion √2·I.
func (c cn2d) Of(p sde.Plane) (Function, error) {
	terms, _ := p.DiffusionTerms()
	for k, s := range p.Diffusion {
		if terms > 2 || math.Abs(float64(s)-math.Sqrt2) > 1e-6 {
			return Function{}, fmt.Errorf("the diffusion is %.6g at node %d: must be sqrt(2)·I, as of all functions of cn2d", s, k/max(terms, 1))
		}
	}
	return c.Restore([][]float32{p.Drift})
}
