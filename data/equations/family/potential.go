package family

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Gibbs is a family of particles whose invariant laws have densities ∝ exp(−βV)
// with potential energies V in closed form.
type Gibbs interface {
	// Potential is the potential of function i.
	Potential(seed uint64, i int) (Potential, error)
}

// Potential is the potential energy of particles in the plane,
//
//	V(x) = κ/2 Σ|xᵢ|² + Σ_{i<j} U(|xᵢ−xⱼ|)
type Potential struct {
	Kernel string                  // kind of U: "morse", "gaussian", "double_gaussian", "wca"
	Trap   float64                 // κ
	Pair   func(r float64) float64 // U(r)
}

// Energy is V of a state (x₁, y₁, x₂, y₂, …).
func (p Potential) Energy(state []float32) float64 {
	var v float64
	for i := 0; i+1 < len(state); i += 2 {
		x, y := float64(state[i]), float64(state[i+1])
		v += p.Trap / 2 * (x*x + y*y)
		for j := 0; j < i; j += 2 {
			dx, dy := x-float64(state[j]), y-float64(state[j+1])
			v += p.Pair(math.Sqrt(dx*dx + dy*dy))
		}
	}
	return v
}

// kernel is a pair potential U with its slope and the range of its force.
type kernel struct {
	name  string
	u     func(r float64) float64 // before any cap
	slope func(r float64) float64 // U′
	// The force acts at distances from core to reach. Below core, 0 for none, U is capped;
	// beyond reach the force is negligible.
	core, reach float64
	cap         float64 // +Inf for none
}

// pair is U with its cap.
func (k kernel) pair(r float64) float64 { return min(k.u(r), k.cap) }

// force tabulates f(r²) = −U′(r)/r.
func (k kernel) force() sde.RadialForce {
	return sde.Tabulate(func(r2 float64) float64 {
		r := math.Sqrt(r2)
		return -k.slope(r) / r
	}, k.core, k.reach)
}

// String gives the kernel's name and range, for errors.
func (k kernel) String() string {
	return fmt.Sprintf("%s kernel with a force between %.4g and %.4g", k.name, k.core, k.reach)
}

// morse is U = D(1−e)² − D, e = exp(−a(r−r₀)), capped.
func morse(depth, a, r0, limit float64) kernel {
	e := func(r float64) float64 { return math.Exp(-a * (r - r0)) }
	return kernel{
		name:  "morse",
		u:     func(r float64) float64 { e := e(r); return depth * e * (e - 2) },
		slope: func(r float64) float64 { e := e(r); return 2 * depth * a * (1 - e) * e },
		// D(e−1)² = limit + D at the cap.
		core:  max(r0-math.Log(1+math.Sqrt(1+limit/depth))/a, 0),
		reach: r0 + 12/a,
		cap:   limit,
	}
}

// gaussian is U = α exp(−r²/2s²).
func gaussian(height, s float64) kernel {
	u := func(r float64) float64 { return height * math.Exp(-r*r/(2*s*s)) }
	return kernel{
		name:  "gaussian",
		u:     u,
		slope: func(r float64) float64 { return -u(r) * r / (s * s) },
		reach: 5 * s,
		cap:   math.Inf(1),
	}
}

// doubleGaussian is the sum of a narrow repulsion and a wide attraction.
func doubleGaussian(height, s, depth, width float64) kernel {
	near, far := gaussian(height, s), gaussian(-depth, width)
	return kernel{
		name:  "double_gaussian",
		u:     func(r float64) float64 { return near.u(r) + far.u(r) },
		slope: func(r float64) float64 { return near.slope(r) + far.slope(r) },
		reach: max(near.reach, far.reach),
		cap:   math.Inf(1),
	}
}

// wca is the Lennard-Jones potential up to its minimum, where it is shifted to
// zero (Weeks, Chandler and Andersen 1971), softened by ρ² = r² + (s/10)², capped:
//
//	U = 4ε(q² − q) + ε,  q = (s/ρ)⁶ ≥ ½
func wca(depth, s, limit float64) kernel {
	const soft = 0.01
	q := func(r float64) float64 {
		v := s * s / (r*r + soft*s*s)
		return v * v * v
	}
	reach := s * math.Sqrt(math.Cbrt(2)-soft)
	// 4ε(q² − q) + ε = limit at the cap.
	core := s * math.Sqrt(max(1/math.Cbrt((1+math.Sqrt(limit/depth))/2)-soft, 0))
	return kernel{
		name: "wca",
		u: func(r float64) float64 {
			if r >= reach {
				return 0
			}
			q := q(r)
			return 4*depth*q*(q-1) + depth
		},
		slope: func(r float64) float64 {
			q := q(r)
			return 24 * depth * q * (1 - 2*q) * r / (r*r + soft*s*s)
		},
		core: core, reach: reach, cap: limit,
	}
}
