package sde

import (
	"fmt"
	"math"
)

// MaxParticles bounds Particles.N.
const MaxParticles = 1024

// Particles is the overdamped Langevin equation of N equal particles in the
// plane, in a harmonic trap and with a pair potential U:
//
//	dXᵢ = (−Trap·Xᵢ + Σⱼ f(|Xᵢ−Xⱼ|²)(Xᵢ−Xⱼ))dt + Noise·dWᵢ,  f(r²) = −U′(r)/r
//
// A state is (x₁, y₁, x₂, y₂, …, x_N, y_N).
type Particles struct {
	N     int     // particles, 1 to MaxParticles
	Trap  float64 // κ ≥ 0
	Noise float64 // √(2/β) > 0
	Force RadialForce
}

// RadialForce is f as a function of r²: linear between values at equal
// distances in r² from 0 to Range², and zero from Range² on.
type RadialForce struct {
	Range  float64   // r beyond which particles do not feel each other
	Values []float32 // f at r² = k·Range²/(len−1), k = 0…len−1; the last is zero
}

// Tabulate takes f at cells+1 equally spaced values of r² in [0, reach²]. A
// value at the end that is not zero is set to zero: choose the reach so that it
// is small.
func Tabulate(f func(r2 float64) float64, reach float64, cells int) RadialForce {
	values := make([]float32, cells+1)
	for k := range cells {
		values[k] = float32(f(reach * reach * float64(k) / float64(cells)))
	}
	return RadialForce{Range: reach, Values: values}
}

// Dim is 2N.
func (p Particles) Dim() int { return 2 * p.N }

// Validate reports numbers out of range and forces that are not finite
// (ErrNotFinite).
func (p Particles) Validate() error {
	switch {
	case p.N < 1 || p.N > MaxParticles:
		return fmt.Errorf("%d particles, want 1 to %d", p.N, MaxParticles)
	case !(p.Trap >= 0) || math.IsInf(p.Trap, 0):
		return fmt.Errorf("trap of strength %v, want zero or a positive number", p.Trap)
	case !(p.Noise > 0) || math.IsInf(p.Noise, 0):
		return fmt.Errorf("noise %v, want a positive number", p.Noise)
	case !(p.Force.Range > 0) || math.IsInf(p.Force.Range, 0):
		return fmt.Errorf("range %v of the pair force, want a positive number", p.Force.Range)
	case len(p.Force.Values) < 2 || len(p.Force.Values) > MaxNodes:
		return fmt.Errorf("pair force has %d values, want 2 to %d", len(p.Force.Values), MaxNodes)
	case p.Force.Values[len(p.Force.Values)-1] != 0:
		return fmt.Errorf("pair force is %v at its range, want zero", p.Force.Values[len(p.Force.Values)-1])
	}
	for k, v := range p.Force.Values {
		if !finite(v) {
			return fmt.Errorf("pair force %v at r² = %.6g: %w", v, p.Force.Range*p.Force.Range*float64(k)/float64(len(p.Force.Values)-1), ErrNotFinite)
		}
	}
	return nil
}
