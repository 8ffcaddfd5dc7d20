package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Suited is the integrator with the smallest error of averages for its cost, by the form of the
// equation: docs/decisions/integrators.md has the measurements.
func Suited(s sde.Space) Integrator {
	s = lift.Of(s)
	if _, err := pairsOf(s); err == nil {
		return BAOAB
	}
	return suitedToFirstOrder(s)
}

// suitedToFirstOrder is Suited of equations without velocities.
func suitedToFirstOrder(s sde.Space) Integrator {
	switch {
	case s.Noise == sde.DiagonalNoise:
		return Platen
	case s.Noise == sde.AdditiveNoise && gradient(s):
		return LeimkuhlerMatthews
	}
	return Heun
}

// Order is that of averages over the invariant law of an equation; 0: the time step makes no error. Behind a reflecting end the drift
// jumps, so that no integrator has more than 1.
func (i Integrator) Order(s sde.Space) int {
	if i == MALA {
		return 0
	}
	reflects := s.Domain.Has(sde.Reflecting)
	s = lift.Of(s)
	switch {
	case reflects:
		return 1
	case i == BAOAB,
		i == Heun && s.Noise == sde.AdditiveNoise,
		i == Platen && s.Noise != sde.AnyNoise,
		i == LeimkuhlerMatthews && s.Noise == sde.AdditiveNoise && gradient(s):
		return 2
	}
	return 1
}

// gradient says whether b = −½SSᵀ∇U for some U, where S is constant: J·SSᵀ is symmetric then, where J
// is the matrix of the derivatives of b. It looks at a few states of the box, with differences.
func gradient(s sde.Space) bool {
	const (
		states = 4
		small  = 1e-4 // of a side of the box
		equal  = 1e-3 // of the largest entry
	)
	d := s.Dim()
	at := s.Uniform(states, 0)
	_, sigma := s.Coefficients(at)
	spread := sde.Spread(sigma[:s.Terms], d)
	for k := range d {
		if !(spread[k*d+k] > 0) {
			return false
		}
	}
	for i := range states {
		var moved []float64 // the state with each coordinate moved forth and back
		for k := range 2 * d {
			moved = append(moved, at[i*d:][:d]...)
			side := small * (s.Box[k/2].Hi - s.Box[k/2].Lo)
			moved[k*d+k/2] += side * float64(1-2*(k%2))
		}
		drift, _ := s.Coefficients(moved)
		product, largest := make([]float64, d*d), 0. // J·SSᵀ
		for r := range d {
			for c := range d {
				for k := range d {
					side := small * (s.Box[k].Hi - s.Box[k].Lo)
					product[r*d+c] += (drift[2*k*d+r] - drift[(2*k+1)*d+r]) / (2 * side) * spread[k*d+c]
				}
				largest = max(largest, math.Abs(product[r*d+c]))
			}
		}
		for r := range d {
			for c := range r {
				if !(math.Abs(product[r*d+c]-product[c*d+r]) <= equal*largest) {
					return false
				}
			}
		}
	}
	return true
}
