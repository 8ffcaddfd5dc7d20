package closure

import (
	"context"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrSettled means that an equation has no settled states.
var ErrSettled = errors.New("settled states")

// Chains of Settled, from the middle half of the box.
const (
	settledChains = 64
	settledAfter  = 500 // steps
	settledStates = 16  // of each chain
	settledEvery  = 20  // steps
)

// Settled is the base of an equation by a few chains with time steps dt, instead of by the closure: the
// mean and a root of the covariance of their states once they have run for a while, by Heun's steps. It
// costs as much as 105,000 evaluations of drift and diffusion. It is for equations on whose attractor
// the closure does not come to rest, and for laws with several wells, where the closure comes to rest in
// one. It fails where the chains do, and on a domain with ends.
func Settled(s sde.Space, dt float64) (Base, error) {
	if s.Domain.Restricts() {
		return Base{}, fmt.Errorf("%w of an equation whose domain has ends", ErrSettled)
	}
	d := s.Dim()
	x := make([]float32, settledChains*settledStates*d)
	scheme := simulate.Scheme{DT: dt, BurnIn: settledAfter, Thin: settledEvery, Chains: settledChains, Start: simulate.InBox, Integrator: simulate.Heun}
	if err := simulate.Fastest().Chains(context.Background(), x, s, scheme, 1, 0, "settled"); err != nil {
		if errors.Is(err, simulate.ErrDiverged) {
			err = simulate.ErrDiverged // without the number of a function, which only the caller knows
		}
		return Base{}, fmt.Errorf("%w, by chains with steps of %g from the box: %w", ErrSettled, dt, err)
	}
	b, ok := ofStates(x, d, func(k int) float64 { // keeps the covariance positive
		return floor * math.Pow((s.Box[k].Hi-s.Box[k].Lo)/boxDeviations, 2)
	})
	if !ok {
		return Base{}, fmt.Errorf("%w, by chains with steps of %g from the box: their covariance is singular", ErrSettled, dt)
	}
	b.Domain = s.Domain
	return b, nil
}

// OfStates is the base of states x [n, dim]: their mean and a root of their covariance, in more than Full
// dimensions the deviations alone; false if the covariance is singular.
func OfStates(x []float32, dim int) (Base, bool) {
	return ofStates(x, dim, func(int) float64 { return 0 })
}

// ofStates adds floors to the variances.
func ofStates(x []float32, d int, floor func(coordinate int) float64) (Base, bool) {
	n := len(x) / d
	states := mat.NewDense(n, d, nil)
	states.Apply(func(i, k int, _ float64) float64 { return float64(x[i*d+k]) }, states)
	b, cov := Base{Mean: make([]float64, d), Factor: make([]float64, d*d)}, mat.NewSymDense(d, nil)
	stat.CovarianceMatrix(cov, states, nil)
	for k := range d {
		b.Mean[k] = stat.Mean(mat.Col(nil, k, states), nil)
		cov.SetSym(k, k, cov.At(k, k)+floor(k))
	}
	var factor mat.Cholesky
	if !factor.Factorize(cov) {
		return Base{}, false
	}
	b.setFactor(cov, &factor)
	return b, true
}
