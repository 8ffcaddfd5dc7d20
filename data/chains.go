package data

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// What a trial looks at are the last states of chains, trialStates of one after those
// of another, each of a number for every axis.

// turning is the correlation of the two steps between a chain's states, the least
// along any axis.
func turning(states []float32, dim int) float64 {
	least := 1.
	for k := range dim {
		var product, first, second float64
		for at := k; at < len(states); at += trialStates * dim {
			a, b := float64(states[at+dim]-states[at]), float64(states[at+2*dim]-states[at+dim])
			product, first, second = product+a*b, first+a*a, second+b*b
		}
		if r := product / math.Sqrt(first*second); r < least { // not NaN, where there is no step along the axis
			least = r
		}
	}
	return least
}

// beyond is the part of the states that is outside the grid.
func beyond(states []float32, axes []sde.Grid) float64 {
	count, dim := 0, len(axes)
	for at := 0; at < len(states); at += dim {
		for k, axis := range axes {
			if x := float64(states[at+k]); x < axis.Lo || x > axis.Hi {
				count++
				break
			}
		}
	}
	return float64(count*dim) / float64(len(states))
}

// still reports whether no chain took a step.
func still(states []float32, dim int) bool {
	for at := 0; at < len(states); at += trialStates * dim {
		for k := at + dim; k < at+trialStates*dim; k++ {
			if states[k] != states[k-dim] {
				return false
			}
		}
	}
	return true
}

// typicalSize is the mean size of a coordinate.
func typicalSize(states []float32) float64 {
	sum := 0.
	for _, x := range states {
		sum += math.Abs(float64(x))
	}
	return sum / float64(len(states))
}

// typicalNoise is the mean over the states of the largest entry of the diffusion at
// the node that is nearest: noise may be in one direction alone.
func typicalNoise(states []float32, system sde.System) float64 {
	dim, sum := system.Dim(), 0.
	for at := 0; at < len(states); at += dim {
		largest := 0.
		for _, s := range diffusionNear(states[at:][:dim], system) {
			largest = max(largest, math.Abs(float64(s)))
		}
		sum += largest
	}
	return sum * float64(dim) / float64(len(states))
}

func diffusionNear(x []float32, system sde.System) []float32 {
	nearest := func(x float32, g sde.Grid) int {
		return int(math.Round(min(max((float64(x)-g.Lo)/g.Step(), 0), float64(g.N-1))))
	}
	switch s := system.(type) {
	case sde.Coefficients:
		return s.Diffusion[nearest(x[0], s.Grid):][:1]
	case sde.Plane:
		terms, constant := s.DiffusionTerms()
		if constant {
			return s.Diffusion
		}
		return s.Diffusion[terms*(nearest(x[1], s.Y)*s.X.N+nearest(x[0], s.X)):][:terms]
	}
	return nil
}
