package gibbs

import "github.com/ergoflow/ergoflow/data/equations/sde"

// Particles is the law of particles with a pair force, π ∝ exp(−2V/Noise²), with
//
//	V = Trap/2 Σ|xᵢ|² + Σ_{i<j} U(|xᵢ−xⱼ|²),  U(q) = ½ ∫_q^∞ f(s) ds.
//
// U is the exact integral of the tabulated force f.
type Particles struct {
	sde.Particles
	potential *sde.RadialPotential
}

// NewParticles is the law of these particles.
func NewParticles(p sde.Particles) *Particles { return &Particles{p, p.Force.Potential()} }

// At visits all pairs.
func (l *Particles) At(x []float64) Points {
	d := l.Dim()
	p := Points{X: x, Log: make([]float64, len(x)/d), Gradient: make([]float64, len(x))}
	beta := 2 / (l.Particles.Noise * l.Particles.Noise)
	for i := range p.Log {
		state, g := x[i*d:(i+1)*d], p.Gradient[i*d:(i+1)*d]
		var v float64
		for j, at := range state {
			v += l.Trap / 2 * at * at
			g[j] = -l.Trap * at
		}
		for j := 0; j < d; j += 2 {
			for m := 0; m < j; m += 2 {
				dx, dy := state[j]-state[m], state[j+1]-state[m+1]
				u, f := l.potential.At(dx*dx + dy*dy)
				v += u
				g[j] += f * dx
				g[j+1] += f * dy
				g[m] -= f * dx
				g[m+1] -= f * dy
			}
		}
		p.Log[i] = -beta * v
		for j := range g {
			g[j] *= beta
		}
	}
	return p
}

// Energies are 2V/Noise² of states x [n, d]: V in units of the temperature.
func (l *Particles) Energies(x []float32) []float64 {
	states := make([]float64, len(x))
	for i, v := range x {
		states[i] = float64(v)
	}
	energies := l.At(states).Log
	for i := range energies {
		energies[i] = -energies[i]
	}
	return energies
}

// Next is At.
func (l *Particles) Next(_ Points, x []float64) Points { return l.At(x) }

// Noise multiplies by the noise.
func (l *Particles) Noise(z []float64) {
	for i := range z {
		z[i] *= l.Particles.Noise
	}
}

// Drift is ½ Noise² of the gradient.
func (l *Particles) Drift(drift, gradient []float64) {
	half := l.Particles.Noise * l.Particles.Noise / 2
	for i, g := range gradient {
		drift[i] = half * g
	}
}

// Quadratic is |u|²/Noise².
func (l *Particles) Quadratic(u []float64) (sum float64) {
	for _, v := range u {
		sum += v * v
	}
	return sum / (l.Particles.Noise * l.Particles.Noise)
}
