package simulate

import (
	"math"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// variance is that of numbers with mean zero, with its standard error if they
// are normal and independent.
func variance(x []float64) (value, err float64) {
	for _, v := range x {
		value += v * v
	}
	value /= float64(len(x))
	return value, value * math.Sqrt(2/float64(len(x)))
}

// Without pair force every coordinate is an autoregression with the variance
// σ²Δt/(1 − (1 − κΔt)²). With f = −k everywhere the centre of mass is that too,
// with 1/n of the noise's variance, and the differences relax with κ + nk.
func TestHarmonicParticles(t *testing.T) {
	const n, dt, trap, noise = 5, 0.1, 0.8, 1.3
	stationary := func(rate float64) float64 {
		a := 1 - rate*dt
		return noise * noise * dt / (1 - a*a)
	}
	for _, k := range []float64{0, 0.3} {
		p := sde.Particles{N: n, Trap: trap, Noise: noise, Force: sde.Tabulate(func(float64) float64 { return -k }, 0, 100)}
		samples := sampleParticles(t, engines[0], p, Scheme{DT: dt, BurnIn: 100, Thin: 1, Chains: 4096}, 1)
		var centres, differences []float64
		for ; len(samples) > 0; samples = samples[2*n:] {
			for c := range 2 {
				var sum float64
				for i := range n {
					sum += float64(samples[2*i+c])
				}
				centres = append(centres, sum/math.Sqrt(n))
				differences = append(differences,
					float64(samples[c]-samples[2+c])/math.Sqrt2, float64(samples[4+c]-samples[6+c])/math.Sqrt2)
			}
		}
		for name, c := range map[string]struct {
			of   []float64
			rate float64
		}{"centre of mass": {centres, trap}, "differences": {differences, trap + n*k}} {
			if got, err := variance(c.of); !(math.Abs(got-stationary(c.rate)) <= 4.5*err) {
				t.Errorf("k = %v: variance of %s is %v ± %v, want %v", k, name, got, err, stationary(c.rate))
			}
		}
	}
}

// distanceLaw is the distribution function of the distance of two particles.
func distanceLaw(p sde.Particles) func(r float64) float64 {
	const top, cells = 12., 1200
	cumulated := make([]float64, cells+1)
	for i := range cells {
		r := top * (float64(i) + 0.5) / cells
		cumulated[i+1] = cumulated[i] + r*math.Exp(-2/(p.Noise*p.Noise)*(pairPotential(p.Force, r*r)+p.Trap*r*r/4))
	}
	return func(r float64) float64 {
		u := min(r/top*cells, cells-1e-9)
		i := int(u)
		return (cumulated[i] + (cumulated[i+1]-cumulated[i])*(u-float64(i))) / cumulated[cells]
	}
}

// Two particles' distance has the density r·exp(−β(U(r) + κr²/4)), β = 2/σ².
func TestDistanceOfTwoParticles(t *testing.T) {
	const trap, noise = 0.5, 1.
	for name, force := range map[string]sde.RadialForce{
		"Gaussian":      sde.Tabulate(gaussian(1, 0.8), 0, 5),
		"attraction":    sde.Tabulate(gaussian(-1, 0.6), 0, 4),
		"Morse, capped": sde.Tabulate(morse(0.7, 2, 1), 0.33, 5), // U rises to 6.5 at the core
	} {
		p := sde.Particles{N: 2, Trap: trap, Noise: noise, Force: force}
		samples := sampleParticles(t, engines[0], p, Scheme{DT: 0.002, BurnIn: 4000, Thin: 1, Chains: 4096}, 1)
		distances := make([]float32, 0, 4096)
		for ; len(samples) > 0; samples = samples[4:] {
			distances = append(distances, float32(math.Hypot(float64(samples[0]-samples[2]), float64(samples[1]-samples[3]))))
		}
		if d := ksScaled(distances, distanceLaw(p)); !(d <= ksCritical) {
			t.Errorf("%s: √n·KS is %.3g from the exact law, want below %v", name, d, ksCritical)
		}
	}
}

// energyOf is κ/2Σ|x|² + ΣU.
func energyOf(p sde.Particles, x []float32) (v float64) {
	for i := range p.N {
		xi, yi := float64(x[2*i]), float64(x[2*i+1])
		v += p.Trap / 2 * (xi*xi + yi*yi)
		for j := range i {
			dx, dy := xi-float64(x[2*j]), yi-float64(x[2*j+1])
			v += pairPotential(p.Force, dx*dx+dy*dy)
		}
	}
	return v
}

// Almost without noise the energy descends at every step, and the path tends
// to the gradient flow with order one: halving Δt halves the deviation.
func TestGradientFlow(t *testing.T) {
	p := sde.Particles{N: 8, Trap: 0.5, Noise: 1e-9, Force: sde.Tabulate(gaussian(2, 0.7), 0, 4)}
	path := func(dt float64, samples int) []float32 {
		return sampleParticles(t, engines[0], p, Scheme{DT: dt, Thin: int(math.Round(0.1 / dt)), Chains: 1}, samples)
	}
	descent := path(0.02, 40)
	before := math.Inf(1)
	for ; len(descent) > 0; descent = descent[p.Dim():] {
		energy := energyOf(p, descent)
		if !(energy < before) {
			t.Errorf("energy rises from %v to %v", before, energy)
		}
		before = energy
	}
	last := func(dt float64) []float32 { return path(dt, 11)[10*p.Dim():] }
	fine := last(0.1 / 256)
	deviation := func(dt float64) (d float64) {
		for k, v := range last(dt) {
			d = max(d, math.Abs(float64(v-fine[k])))
		}
		return d
	}
	// The reference is itself off by 1/256 and 1/128 of it.
	if ratio := deviation(0.1/2) / deviation(0.1/4); !(math.Abs(ratio-2) <= 0.25) {
		t.Errorf("halving Δt divides the deviation by %.3f, want 2", ratio)
	}
}

// The dynamics is reversible: in equilibrium E[A(X₀)B(X_τ)] = E[B(X₀)A(X_τ)],
// here for the places of the first and the last particle, of which one would
// follow the other if forces were not mutual.
func TestDetailedBalance(t *testing.T) {
	p := sde.Particles{N: 3, Trap: 1, Noise: 1, Force: sde.Tabulate(gaussian(-1.5, 1), 0, 5)}
	const chains, perChain = 4096, 6
	samples := sampleParticles(t, engines[0], p, Scheme{DT: 0.005, BurnIn: 1500, Thin: 80, Chains: chains}, perChain)
	var sum, square, change float64
	for c := range chains {
		var difference float64
		for j := range perChain - 1 {
			now, later := samples[(c*perChain+j)*p.Dim():], samples[(c*perChain+j+1)*p.Dim():]
			for k := range 2 {
				a0, b0, a1, b1 := float64(now[k]), float64(now[4+k]), float64(later[k]), float64(later[4+k])
				difference += a0*b1 - b0*a1
				change += (a0*b0+a1*b1)/2 - (a0*b1+b0*a1)/2
			}
		}
		sum += difference
		square += difference * difference
	}
	err := math.Sqrt(square)
	if !(math.Abs(sum) <= 4*err) {
		t.Errorf("E[A₀B₁ − B₀A₁] is %.3g standard errors from zero", sum/err)
	}
	if !(change >= 4*err) {
		t.Errorf("the particles' correlation hardly changes between samples, by %.3g standard errors: the test says nothing", change/err)
	}
}
