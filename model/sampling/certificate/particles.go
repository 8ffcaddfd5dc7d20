package certificate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
)

// Particles are equal particles in the plane with a pair force, a state being
// (x₁, y₁, x₂, y₂, …).
type Particles struct{ sde.Particles }

// widths are those of the Gaussians of the test, in deviations of a coordinate.
var widths = [...]float64{0.25, 0.5, 1}

// mostStates bounds the states that are looked at: each costs a force for every pair.
const mostStates = 1 << 14

// test is the generator test, and compares the samples with chains.
func (p Particles) test(x []float32, effective float64) []Check {
	checks := p.generator(x, effective)
	if effective >= fewest && !checks[0].refused() {
		checks = append(checks, p.replicas(x, effective))
	}
	return checks
}

// generator is the generator test for functions that do not depend on the particles' order: with
// the deviation s of a coordinate, the centre of mass, ½Σ|xᵢ|², Σ g(|xᵢ|²) and Σ g(|xᵢ−xⱼ|²)
// over pairs, g(q) = exp(−q/2w²). In the plane
//
//	∇g(|z|²) = 2g′z,  Δg(|z|²) = 4g′ + 4|z|²g″.
//
// The natural rate of the centre is ½σ²/s. Of the others it is that of the noise alone,
// E|½σ²Δf| term by term, which of ½|x|² is ½σ² for each coordinate, as in Line.
func (p Particles) generator(x []float32, effective float64) (checks []Check) {
	d := p.Dim()
	n := len(x) / d
	stride := (n + mostStates - 1) / mostStates
	effective /= float64(stride)
	half := p.Noise * p.Noise / 2
	var square, count float64
	for i := 0; i < n; i += stride {
		count++
		for _, v := range x[i*d:][:d] {
			square += float64(v) * float64(v)
		}
	}
	square /= count * float64(d)
	if !(square > 0) || math.IsInf(square, 0) {
		return []Check{check(broken, "samples", 1, 0, "all samples are 0, or too large")}
	}
	names := []string{"centre x", "centre y", "½Σ|xᵢ|²"}
	for _, w := range widths {
		names = append(names, fmt.Sprintf("radial, width %g", w), fmt.Sprintf("pairs, width %g", w))
	}
	var parts [len(widths)]float64 // 1/2w²
	for k, w := range widths {
		parts[k] = 1 / (2 * w * w * square)
	}
	var totals [3 + 2*len(widths)]sums
	var noises [3 + 2*len(widths)]float64
	b := make([]float64, d)
	for i := 0; i < n; i += stride {
		state := x[i*d:][:d]
		var lf [3 + 2*len(widths)]float64
		p.Drift(b, state)
		for j := 0; j < d; j += 2 {
			u, v := float64(state[j]), float64(state[j+1])
			q, along := u*u+v*v, u*b[j]+v*b[j+1]
			lf[0] += b[j] / float64(p.N)
			lf[1] += b[j+1] / float64(p.N)
			lf[2] += along + 2*half
			for k, a := range parts {
				g := math.Exp(-a * q)
				laplace := half * g * 4 * a * (a*q - 1)
				lf[3+2*k] += -2*a*g*along + laplace
				noises[3+2*k] += math.Abs(laplace)
			}
			for m := 0; m < j; m += 2 {
				u, v := u-float64(state[m]), v-float64(state[m+1])
				q, along := u*u+v*v, u*(b[j]-b[m])+v*(b[j+1]-b[m+1])
				for k, a := range parts {
					if a*q > 30 { // below rounding
						continue
					}
					g := math.Exp(-a * q)
					laplace := 2 * half * g * 4 * a * (a*q - 1) // of both particles
					lf[4+2*k] += -2*a*g*along + laplace
					noises[4+2*k] += math.Abs(laplace)
				}
			}
		}
		for k, v := range lf {
			totals[k].add(v, 0)
		}
	}
	scales := [3 + 2*len(widths)]float64{half / math.Sqrt(square), half / math.Sqrt(square), half * float64(d)}
	for k, name := range names {
		if k >= 3 {
			scales[k] = noises[k] / count
		}
		checks = append(checks, totals[k].check(name, count, effective, scales[k]))
	}
	return checks
}

// replicas compares the mean energy of samples, in its deviations, with that of chains from them which exchange
// states with hotter ones. The generator test is local: samples in which particles are where no noise takes
// them from pass it.
func (p Particles) replicas(x []float32, effective float64) Check {
	m, err := wells.Melt(context.Background(), p.Particles, x, effective)
	if err != nil {
		return check(missing, "energy", 1, 0, fmt.Sprintf("chains of the equation fail, so that nothing compares the samples with them: %v", err))
	}
	return check(tempered, "energy", (m.Law-m.Have)/m.Deviation, (m.Law-m.Have)/m.Error, fmt.Sprintf(
		"the samples have a mean energy of %.4g ± %.2g, in units of the temperature, and chains from them that exchange states with hotter ones have %.4g: particles may be where they cannot leave",
		m.Have, m.Deviation, m.Law))
}
