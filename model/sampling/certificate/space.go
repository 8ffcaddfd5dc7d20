package certificate

import (
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
)

// Space is an equation in several dimensions whose coefficients are functions.
type Space struct{ sde.Space }

// obliques is how many directions the test has beside the axes. They are the same for all samples.
const obliques = 16

// waves are the functions g of the test along a direction, with their two derivatives.
var waves = []struct {
	name string
	of   func(v float64) (slope, bend float64)
}{
	{"v", func(float64) (float64, float64) { return 1, 0 }},
	{"½v²", func(v float64) (float64, float64) { return v, 1 }},
	{"tanh v", func(v float64) (float64, float64) {
		t := math.Tanh(v)
		return 1 - t*t, -2 * t * (1 - t*t)
	}},
	{"sin v", func(v float64) (float64, float64) {
		sin, cos := math.Sincos(v)
		return cos, -sin
	}},
}

// test is the generator test for f = g(v), v = Σ_c w_c·(e_c − mean_c)/s_c, with the deviations s of
// the samples, along every axis and along oblique directions w:
//
//	Lf = g′·(b·k) + ½g″·kᵀσσᵀk,  k_c = w_c/s_c
//
// The features e with their drift b and their noise σ are those of package lift: the coordinates x,
// and functions of them where the domain has ends, so that E Lf = 0 has no terms there.
//
// The natural rate is that of Plane.
func (s Space) test(x []float32, effective float64) (checks []Check) {
	d := s.Dim()
	states := make([]float64, len(x))
	for i, v := range x {
		states[i] = float64(v)
	}
	features := lift.Features(s.Space)
	n := len(states) / d
	spreads := make([][]float64, n)
	states, drift := lift.Observed(s.Space, states, func(i int, noise []float64) { spreads[i] = slices.Clone(noise) })
	d = len(features)
	finite := make([]bool, n)
	count := 0.
	for i := range n {
		sum := 0.
		for _, v := range slices.Concat(states[i*d:(i+1)*d], drift[i*d:(i+1)*d], spreads[i]) {
			sum += v
		}
		if finite[i] = sum-sum == 0; finite[i] {
			count++
		}
	}
	if missing := 1 - count/float64(n); missing > 0 {
		checks = append(checks, check(values, "values", missing, 0, fmt.Sprintf("at %s of the samples a drift or a diffusion is not finite", percent(missing))))
	}
	if count == 0 {
		return checks
	}
	mean, square, half := make([]float64, d), make([]float64, d), make([]float64, d)
	for i := range n {
		if !finite[i] {
			continue
		}
		for c := range d {
			mean[c] += states[i*d+c] / count
			half[c] += spreads[i][c*d+c] / 2 / count
		}
	}
	for i := range n {
		for c := range d {
			if u := states[i*d+c] - mean[c]; finite[i] {
				square[c] += u * u / count
			}
		}
	}
	for _, v := range square {
		if !(v > 0) {
			return append(checks, check(broken, "samples", 1, 0, "all samples are equal along an axis"))
		}
	}
	rates := naturalRates(half, square)
	share := effective * count / float64(n)
	for _, w := range directions(features) {
		var totals [4]sums
		rate := 0.
		for c, v := range w.along {
			rate += v * v * rates[c] // of v, in its deviations
		}
		ks := make([]float64, d)
		for c := range ks {
			ks[c] = w.along[c] / math.Sqrt(square[c])
		}
		for i := range n {
			if !finite[i] {
				continue
			}
			v, b, a := 0., 0., 0.
			for c, kc := range ks {
				if kc == 0 {
					continue
				}
				v += kc * (states[i*d+c] - mean[c])
				b += kc * drift[i*d+c]
				for e, ke := range ks {
					a += kc * ke * spreads[i][c*d+e]
				}
			}
			for j, g := range waves {
				slope, bend := g.of(v)
				totals[j].add(slope*b+bend*a/2, slope)
			}
		}
		for j, g := range waves {
			scale := rate * math.Sqrt(totals[j].gradient/count)
			checks = append(checks, totals[j].check(fmt.Sprintf("%s, v along %s", g.name, w.name), count, share, scale))
		}
	}
	return checks
}

// direction is a unit vector.
type direction struct {
	name  string
	along []float64
}

// directions are the axes of the features and, of several, oblique ones.
func directions(features []lift.Feature) (all []direction) {
	d := len(features)
	for c, f := range features {
		along := make([]float64, d)
		along[c] = 1
		all = append(all, direction{f.Name, along})
	}
	for k := range obliques {
		if d == 1 {
			break
		}
		rng, along, norm := random.New(1, "certificate/space", uint64(d), uint64(k)), make([]float64, d), 0.
		for c := range along {
			along[c] = rng.NormFloat64()
			norm += along[c] * along[c]
		}
		for c := range along {
			along[c] /= math.Sqrt(norm)
		}
		all = append(all, direction{fmt.Sprintf("oblique direction %d", k), along})
	}
	return all
}
