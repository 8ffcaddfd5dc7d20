package data

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// The states of a pilot run are [chains, pilotStates, dim], the last states of every chain.

// fractionOutside is the fraction of states outside the grid.
func fractionOutside(states []float32, axes []sde.Grid) float64 {
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

// unmoved reports whether no chain took a step.
func unmoved(states []float32, dim int) bool {
	for at := 0; at < len(states); at += pilotStates * dim {
		for k := at + dim; k < at+pilotStates*dim; k++ {
			if states[k] != states[k-dim] {
				return false
			}
		}
	}
	return true
}

// meanDistance is the mean of |x − centre| over all coordinates.
func meanDistance(states []float32, centre [2]float64) float64 {
	sum, dim := 0., len(states)/(pilotChains*pilotStates)
	for at, x := range states {
		sum += math.Abs(float64(x) - centre[at%dim])
	}
	return sum / float64(len(states))
}

// roundedPart is the least ratio, over the axes, of what rounding to float32 changes the
// states by and their deviation. A number x is rounded by 2⁻²⁴|x|/√3 in the root mean square,
// at most. The least, because along one axis a system may have a constant state.
func roundedPart(states []float32, dim int) float64 {
	least, n := math.Inf(1), float64(len(states)/dim)
	for k := range dim {
		var mean, squares float64
		for at := k; at < len(states); at += dim {
			mean += float64(states[at]) / n
		}
		for at := k; at < len(states); at += dim {
			squares += (float64(states[at]) - mean) * (float64(states[at]) - mean) / n
		}
		if squares > 0 {
			least = min(least, 0x1p-24*math.Abs(mean)/math.Sqrt(3*squares))
		}
	}
	return least
}

// meanNoise is the mean over the states of the largest entry of the diffusion at the
// nearest node. The largest, because noise may act in one direction only.
func meanNoise(states []float32, system sde.System) float64 {
	dim, sum := system.Dim(), 0.
	for at := 0; at < len(states); at += dim {
		largest := 0.
		for _, s := range nearestDiffusion(states[at:][:dim], system) {
			largest = max(largest, math.Abs(float64(s)))
		}
		sum += largest
	}
	return sum * float64(dim) / float64(len(states))
}

// nearestDiffusion is the diffusion at the node nearest to x.
func nearestDiffusion(x []float32, system sde.System) []float32 {
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
