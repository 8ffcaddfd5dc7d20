package repair

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// statistics are numbers of every sample, each list sorted.
func (w *walk) statistics() [][]float64 {
	var lists [][]float64
	var of func(x []float32) []float64
	d := 1
	if w.exact == nil {
		d = w.equation.System.Dim()
	}
	particles, isParticles := w.equation.System.(sde.Particles)
	switch {
	case d == 1:
		of = func(x []float32) []float64 { return []float64{float64(x[0])} }
	case isParticles:
		of = sizes(particles.N)
	default:
		of = func(x []float32) []float64 {
			u, v := float64(x[0]), float64(x[1])
			return []float64{u, v, u + v, u - v}
		}
	}
	for i := 0; i < len(w.x); i += d {
		values := of(w.x[i : i+d])
		if lists == nil {
			lists = make([][]float64, len(values))
		}
		for k, v := range values {
			lists[k] = append(lists[k], v)
		}
	}
	for _, l := range lists {
		slices.Sort(l)
	}
	return lists
}

// sizes are, of n particles, their centre, Σ|xᵢ|², and Σ exp(−|xᵢ−xⱼ|²/2w²) over pairs for
// three widths w.
func sizes(n int) func(x []float32) []float64 {
	widths := [3]float64{0.25, 0.5, 1}
	return func(x []float32) []float64 {
		values := make([]float64, 6)
		for i := 0; i < 2*n; i += 2 {
			u, v := float64(x[i]), float64(x[i+1])
			values[0] += u
			values[1] += v
			values[2] += u*u + v*v
			for j := 0; j < i; j += 2 {
				du, dv := u-float64(x[j]), v-float64(x[j+1])
				q := du*du + dv*dv
				for k, w := range widths {
					if q < 60*w*w {
						values[3+k] += math.Exp(-q / (2 * w * w))
					}
				}
			}
		}
		return values
	}
}

// apart is the largest Kolmogorov–Smirnov distance between equally long sorted lists.
func apart(a, b [][]float64) (most float64) {
	for k := range a {
		x, y := a[k], b[k]
		i, j := 0, 0
		for i < len(x) && j < len(y) {
			v := min(x[i], y[j])
			for i < len(x) && x[i] == v {
				i++
			}
			for j < len(y) && y[j] == v {
				j++
			}
			most = max(most, math.Abs(float64(i-j))/float64(len(x)))
		}
	}
	return most
}
