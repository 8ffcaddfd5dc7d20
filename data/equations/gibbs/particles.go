package gibbs

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Particles is the law of particles with a pair force, π ∝ exp(−2V/Noise²), with
//
//	V = Trap/2 Σ|xᵢ|² + Σ_{i<j} U(|xᵢ−xⱼ|²),  U(q) = ½ ∫_q^∞ f(s) ds.
//
// U is the exact integral of the tabulated force f.
type Particles struct {
	sde.Particles
	beyond [sde.ForceCells + 1]float64 // ∫ f dt from the lower end of a cell on
}

// NewParticles is the law of these particles.
func NewParticles(p sde.Particles) *Particles {
	l := &Particles{Particles: p}
	for k := sde.ForceCells - 1; k >= 0; k-- {
		c := p.Force.Cells[k]
		l.beyond[k] = l.beyond[k+1] + integral(c, ends(k), ends(k+1))
	}
	return l
}

// ends is the lower end of a cell of sde.RadialForce.
func ends(k int) float64 { return math.Ldexp(1+0.5*float64(k%2), k/2) }

// integral is ∫ c₀ + c₁t + c₂t² + c₃t³ dt from a to b.
func integral(c [4]float32, a, b float64) float64 {
	at := func(t float64) float64 {
		return t * (float64(c[0]) + t*(float64(c[1])/2+t*(float64(c[2])/3+t*float64(c[3])/4)))
	}
	return at(b) - at(a)
}

// pair is U and f at the square q of a distance.
func (l *Particles) pair(q, scale float64) (potential, force float64) {
	t := 1 + scale*(q-l.Force.Core*l.Force.Core)
	switch {
	case !(t >= 1):
		return l.beyond[0] / (2 * scale), 0
	case t >= ends(sde.ForceCells):
		return 0, 0
	}
	mantissa, exponent := math.Frexp(t)
	k := 2 * (exponent - 1)
	if mantissa >= 0.75 {
		k++
	}
	c := l.Force.Cells[k]
	force = float64(c[0]) + t*(float64(c[1])+t*(float64(c[2])+t*float64(c[3])))
	return (l.beyond[k+1] + integral(c, t, ends(k+1))) / (2 * scale), force
}

// At visits all pairs.
func (l *Particles) At(x []float64) Points {
	d := l.Dim()
	p := Points{X: x, Log: make([]float64, len(x)/d), Gradient: make([]float64, len(x))}
	scale, beta := l.Force.Scale(), 2/(l.Particles.Noise*l.Particles.Noise)
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
				u, f := l.pair(dx*dx+dy*dy, scale)
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
