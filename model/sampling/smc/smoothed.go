package smc

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/random"
)

const (
	// narrow is the bandwidth in parts of Silverman's, s·n^(−1/6), which is right for a normal law
	// and too wide for several wells.
	narrow = 0.5
	// wide is the part of the law that is one normal law, of so many times the deviation of the
	// draws: so π/r has a bound where the draws are too narrow.
	wide, wideDeviations = 0.1, 2
	// far is where a kernel ends, in bandwidths.
	far = 5
)

// smoothed is a law r with a density in closed form: of draws of a model in the plane, each with
// normal noise,
//
//	r = 0.9/n Σ_k N(x_k, diag h²) + 0.1 N(mean, diag (2s)²).
type smoothed struct {
	centres []float64 // [n, 2]
	h       [2]float64
	mean, s [2]float64
}

func smooth(draws []float32) *smoothed {
	m := &smoothed{}
	stride := max(1, len(draws)/2/Draws)
	for i := 0; i+1 < len(draws); i += 2 * stride {
		m.centres = append(m.centres, float64(draws[i]), float64(draws[i+1]))
	}
	n := float64(len(m.centres) / 2)
	for i, v := range m.centres {
		m.mean[i%2] += v / n
	}
	for i, v := range m.centres {
		m.s[i%2] += (v - m.mean[i%2]) * (v - m.mean[i%2]) / n
	}
	for k := range m.s {
		m.h[k] = max(narrow*math.Sqrt(m.s[k])*math.Pow(n, -1./6), 1e-6)
		m.s[k] = max(wideDeviations*math.Sqrt(m.s[k]), 1e-6)
	}
	return m
}

// draw draws n states. The parts of r come in fixed numbers, one after another.
func (m *smoothed) draw(n int, seed uint64) []float32 {
	rng := random.New(seed, "smc/smoothed")
	x := make([]float32, 2*n)
	count := len(m.centres) / 2
	for i := range n {
		centre, deviation := m.mean[:], m.s
		if float64(i) >= wide*float64(n) {
			k := i % count
			centre, deviation = m.centres[2*k:2*k+2], m.h
		}
		for c := range 2 {
			x[2*i+c] = float32(centre[c] + deviation[c]*rng.NormFloat64())
		}
	}
	return x
}

// at is log r and its gradient at states [n, 2].
func (m *smoothed) at(x []float64) gibbs.Points {
	p := gibbs.Points{X: x, Log: make([]float64, len(x)/2), Gradient: make([]float64, len(x))}
	inverse := [2]float64{1 / m.h[0], 1 / m.h[1]}
	each := (1 - wide) / float64(len(m.centres)/2) * inverse[0] * inverse[1]
	for i := range p.Log {
		u, v := x[2*i], x[2*i+1]
		a, b := (u-m.mean[0])/m.s[0], (v-m.mean[1])/m.s[1]
		sum := wide / (m.s[0] * m.s[1]) * math.Exp(-(a*a+b*b)/2)
		du, dv := -sum*a/m.s[0], -sum*b/m.s[1]
		for k := 0; k < len(m.centres); k += 2 {
			a, b := (u-m.centres[k])*inverse[0], (v-m.centres[k+1])*inverse[1]
			if q := a*a + b*b; q < far*far {
				w := each * math.Exp(-q/2)
				sum += w
				du -= w * a * inverse[0]
				dv -= w * b * inverse[1]
			}
		}
		sum = max(sum, math.SmallestNonzeroFloat64)
		p.Log[i], p.Gradient[2*i], p.Gradient[2*i+1] = math.Log(sum), du/sum, dv/sum
	}
	return p
}
