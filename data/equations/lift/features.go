package lift

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Feature is a smooth function e of one coordinate of an equation's states, such that functions f of
// features are in the domain of its generator: E Lf = 0 under the invariant law has no terms at the
// ends. On a circle e is periodic, at a reflecting end e′ = 0, and towards an open end e is the
// coordinate of this package, which has none.
//
//	line             x
//	(lo, hi)         z
//	circle           (P/2π)·cos(2πx/P) and sin, with the period P
//	reflect [lo, hi] −(w/π)·cos(π(x − lo)/w), with the width w
//	reflect [lo, inf) √(s² + (x − lo)²), with a third of the box as s; the same on the other side
type Feature struct {
	Name       string // as in x[0]
	Coordinate int
	at         func(x float64) (value, slope, bend float64)
}

// Of is the feature of a coordinate x.
func (f Feature) Of(x float64) float64 {
	value, _, _ := f.at(x)
	return value
}

// Along are the values at states x [n, dim].
func (f Feature) Along(x []float32, dim int) (values []float64) {
	for at := f.Coordinate; at < len(x); at += dim {
		values = append(values, f.Of(float64(x[at])))
	}
	return values
}

// Features are those of an equation: for each coordinate one, and two on a circle.
func Features(s sde.Space) (all []Feature) {
	for k := range s.Box {
		r, name := s.Domain.At(k), fmt.Sprintf("x[%d]", k)
		add := func(form string, at func(x float64) (value, slope, bend float64)) {
			all = append(all, Feature{fmt.Sprintf(form, name), k, at})
		}
		switch r.Ends {
		case sde.NoEnds:
			add("%s", func(x float64) (float64, float64, float64) { return x, 1, 0 })
		case sde.Open:
			add("z of %s", func(x float64) (float64, float64, float64) {
				p, q := 1/(x-r.Lo), 1/(r.Hi-x)
				return Up(r, x), p + q, q*q - p*p
			})
		case sde.Joined:
			turn := 2 * math.Pi / r.Width()
			add("cos %s", func(x float64) (float64, float64, float64) {
				sin, cos := math.Sincos(turn * (x - r.Lo))
				return cos / turn, -sin, -turn * cos
			})
			add("sin %s", func(x float64) (float64, float64, float64) {
				sin, cos := math.Sincos(turn * (x - r.Lo))
				return sin / turn, cos, -turn * sin
			})
		case sde.Reflecting:
			add("folded %s", reflecting(r, s.Box[k]))
		}
	}
	return all
}

// reflecting is the feature of a range with reflecting ends.
func reflecting(r sde.Range, box sde.Interval) func(x float64) (value, slope, bend float64) {
	if w := r.Width(); !math.IsInf(w, 0) {
		return func(x float64) (float64, float64, float64) {
			sin, cos := math.Sincos(math.Pi * (x - r.Lo) / w)
			return -w / math.Pi * cos, sin, math.Pi / w * cos
		}
	}
	end, far := r.Lo, box.Hi
	if math.IsInf(r.Lo, 0) {
		end, far = r.Hi, box.Lo
	}
	scale := math.Abs(far-end) / 3
	return func(x float64) (float64, float64, float64) {
		y := x - end
		root := math.Hypot(scale, y)
		return root, y / root, scale * scale / (root * root * root)
	}
}

// Observed are the features of states [n, Dim] as an equation has them: their values [n, m] and their
// drift Le = e′b + ½e″(SSᵀ)ₖₖ, also [n, m]. each gets the noise eᵢ′eⱼ′(SSᵀ) [m, m] at every state, of
// the features' coordinates, in a slice that it must not keep. Without ends these are the states, b
// and SSᵀ.
func Observed(s sde.Space, states []float64, each func(i int, noise []float64)) (values, drift []float64) {
	d, features := s.Dim(), Features(s)
	m := len(features)
	b, terms := s.Coefficients(states)
	n := len(states) / d
	values, drift = make([]float64, n*m), make([]float64, n*m)
	slopes, noise := make([]float64, m), make([]float64, m*m)
	for i := range n {
		spread := sde.Spread(terms[i*s.Terms:(i+1)*s.Terms], d)
		for j, f := range features {
			k := f.Coordinate
			value, slope, bend := f.at(states[i*d+k])
			values[i*m+j], slopes[j] = value, slope
			drift[i*m+j] = slope * b[i*d+k]
			if bend != 0 {
				drift[i*m+j] += bend * spread[k*d+k] / 2
			}
		}
		for j, f := range features {
			for l, g := range features {
				noise[j*m+l] = slopes[j] * slopes[l] * spread[f.Coordinate*d+g.Coordinate]
			}
		}
		each(i, noise)
	}
	return values, drift
}
