package sde

import (
	"fmt"
	"math"
)

// MaxParticles bounds Particles.N.
const MaxParticles = 1024

// Particles is the overdamped Langevin equation of N equal particles in the plane, in a
// harmonic trap and with a pair potential U:
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

// Dim is 2N.
func (p Particles) Dim() int { return 2 * p.N }

// Drift writes the drift at a state.
func (p Particles) Drift(drift []float64, state []float32) {
	for j, v := range state {
		drift[j] = -p.Trap * float64(v)
	}
	for j := 0; j < len(state); j += 2 {
		for m := 0; m < j; m += 2 {
			u, v := float64(state[j])-float64(state[m]), float64(state[j+1])-float64(state[m+1])
			f := p.Force.At(u*u + v*v)
			drift[j] += f * u
			drift[j+1] += f * v
			drift[m] -= f * u
			drift[m+1] -= f * v
		}
	}
}

// InUnits is the equation of length·X(rate·t): the same particles with other units of length
// and time.
func (p Particles) InUnits(length, rate float64) Particles {
	p.Trap *= rate
	p.Noise *= length * math.Sqrt(rate)
	p.Force.Core *= length
	p.Force.Range *= length
	for k := range p.Force.Cells {
		for i := range p.Force.Cells[k] { // of t, which has no unit
			p.Force.Cells[k][i] *= float32(rate)
		}
	}
	return p
}

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
	}
	return p.Force.Validate()
}
