package flow

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// steps over which means are taken: a step has few points.
const pointSteps = 200

// mean over the points of many steps.
func mean(n int, times Times, of func(x, t, density float64) float64) (sum float64) {
	var p points
	for step := range pointSteps {
		p.draw(7, step, n, times)
		for j, x := range p.x {
			sum += of(float64(x), float64(p.t[j]), p.density[j])
		}
	}
	return sum / float64(n*pointSteps)
}

// The density is that of the points: moments of a normal law in motion, by importance
// sampling from the points, are those of its formula. Times have the mean and the second
// moment of their law.
func TestPointsHaveTheirDensity(t *testing.T) {
	const mu, sigma = 1.3, 0.4
	for times, second := range map[Times]float64{"": 1. / 3, Uniform: 1. / 3, LogitNormal: 0.29337} {
		for name, c := range map[string]struct {
			of   func(x, t, density float64) float64
			want float64
		}{
			"mean time":   {func(_, t, _ float64) float64 { return t }, 0.5},
			"square time": {func(_, t, _ float64) float64 { return t * t }, second},
			"mass":        {func(x, t, q float64) float64 { return normalAt(x, t*mu, 1-t+t*sigma) / q }, 1},
			"centre":      {func(x, t, q float64) float64 { return (x - t*mu) * normalAt(x, t*mu, 1-t+t*sigma) / q }, 0},
			"variance": {func(x, t, q float64) float64 {
				s := 1 - t + t*sigma
				return (x - t*mu) * (x - t*mu) / (s * s) * normalAt(x, t*mu, s) / q
			}, 1},
		} {
			if got := mean(128, times, c.of); !(math.Abs(got-c.want) <= 0.01) {
				t.Errorf("%q, %s: %g, want %g", times, name, got, c.want)
			}
		}
	}
}

func normalAt(x, mean, deviation float64) float64 {
	z := (x - mean) / deviation
	return math.Exp(-z*z/2) / (deviation * math.Sqrt(2*math.Pi))
}

// Samples of a normal law at its quantiles have the closed-form velocity at every point
// between them, and weights near the ratio of the densities.
func TestFitOfNormalLaw(t *testing.T) {
	const n, mu, sigma = 512, -0.7, 0.5
	var x0, x1 []float32
	for i := range n {
		z := distuv.UnitNormal.Quantile((float64(i) + 0.5) / n)
		x0, x1 = append(x0, float32(z)), append(x1, float32(mu+sigma*z))
	}
	var p points
	var inside, sum float64
	for step := range pointSteps {
		p.draw(3, step, 64, Uniform)
		velocity, weight := p.fit(nil, nil, x0, x1)
		for j, x := range p.x {
			x, at := float64(x), float64(p.t[j])
			s := 1 - at + at*sigma
			z := (x - at*mu) / s
			sum += float64(weight[j]) / (64 * pointSteps)
			if math.Abs(z) > float64(x0[n-1]) {
				if weight[j] != 0 {
					t.Fatalf("weight %g beyond the samples", weight[j])
				}
				continue
			}
			if want := mu + (sigma-1)*z; !(math.Abs(float64(velocity[j])-want) <= 1e-4) {
				t.Fatalf("velocity %g at z = %g, want %g", velocity[j], z, want)
			}
			if math.Abs(z) < 2 {
				inside++
				if want := min(normalAt(x, at*mu, s)/p.density[j], maxWeight); !(math.Abs(float64(weight[j])-want) <= 0.08*want) {
					t.Fatalf("weight %g at z = %g, want %g", weight[j], z, want)
				}
			}
		}
	}
	if inside < 2000 || !(math.Abs(sum-1) <= 0.02) {
		t.Errorf("%g points inside, mean weight %g", inside, sum)
	}
}

// Equal samples, of which the map is flat, have finite velocities and bounded weights.
func TestFitOfEqualSamples(t *testing.T) {
	var p points
	for step := range pointSteps {
		p.draw(1, step, 64, Uniform)
		velocity, weight := p.fit(nil, nil, []float32{-2, -1, -1, 0, 1, 2}, []float32{3, 3, 3, 3, 3, 3})
		for j, v := range velocity {
			if w := weight[j]; !(w >= 0 && w <= maxWeight) || !(math.Abs(float64(v)) <= 5) {
				t.Fatalf("velocity %g with weight %g at x = %g, t = %g", v, w, p.x[j], p.t[j])
			}
		}
	}
}
