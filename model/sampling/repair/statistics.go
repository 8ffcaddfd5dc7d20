package repair

import (
	"math"
	"slices"
	"sort"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// statistics are numbers of every sample, each list in the order of the samples.
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
	case d > 2:
		of = func(x []float32) []float64 {
			values := make([]float64, 0, d+1)
			total := 0.
			for _, v := range x {
				values = append(values, float64(v))
				total += float64(v)
			}
			return append(values, total)
		}
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

// sorted are the lists in order.
func sorted(lists [][]float64) [][]float64 {
	result := make([][]float64, len(lists))
	for k, l := range lists {
		result[k] = slices.Sorted(slices.Values(l))
	}
	return result
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

// paired compares the statistics of the same samples before and after a round. Both are replaced
// by their ranks u among those before, from 0 to 1, which are bounded and know no units.
//
// drift is the largest |z| of the mean changes of u and of |u − ½|: of location and of spread.
// While samples remember where they were, their changes are small beside their spread, so this
// sees a drift that is far below what Kolmogorov and Smirnov see. memory is the largest
// correlation of u before and after.
func paired(before, after, order [][]float64) (drift, memory float64) {
	for k := range before {
		n := float64(len(before[k]))
		var moved, spread [2]float64 // sums of the changes and of their squares
		var xx, yy, xy float64
		for i, v := range before[k] {
			u, w := rank(order[k], v)-0.5, rank(order[k], after[k][i])-0.5
			for j, c := range [2]float64{w - u, math.Abs(w) - math.Abs(u)} {
				moved[j] += c
				spread[j] += c * c
			}
			xx, yy, xy = xx+u*u, yy+w*w, xy+u*w
		}
		for j := range moved {
			mean := moved[j] / n
			if variance := spread[j]/n - mean*mean; variance > 0 {
				drift = max(drift, math.Abs(mean)/math.Sqrt(variance/n))
			}
		}
		if xx > 0 && yy > 0 {
			memory = max(memory, xy/math.Sqrt(xx*yy))
		}
	}
	return drift, memory
}

// rank is the part of a sorted list that is below v, with half of what is equal.
func rank(order []float64, v float64) float64 {
	low, found := slices.BinarySearch(order, v)
	high := low
	if found {
		high = sort.Search(len(order), func(i int) bool { return order[i] > v })
	}
	return float64(low+high) / float64(2*len(order))
}
