package observables

import (
	"math"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/bucketsort"
)

// pairs holds the distances between the particles of one state. It is for one
// goroutine.
type pairs struct {
	particles int
	distances []float64 // between the particles i < j, sorted
	nearest   []float64 // from each particle to its nearest neighbour
	raw       []float64 // distances before sorting
	sorter    bucketsort.Sorter
}

func newPairs(particles int) *pairs {
	n := particles * (particles - 1) / 2
	return &pairs{
		particles: particles,
		distances: make([]float64, n), raw: make([]float64, n),
		nearest: make([]float64, particles),
	}
}

// measure sets the distances to those of a state.
func (p *pairs) measure(state []float32) {
	for i := range p.nearest {
		p.nearest[i] = math.Inf(1) // squared until the end
	}
	k := 0
	for i := range p.particles {
		x, y, nearest := float64(state[2*i]), float64(state[2*i+1]), p.nearest[i]
		for j := i + 1; j < p.particles; j++ {
			dx, dy := float64(state[2*j])-x, float64(state[2*j+1])-y
			square := dx*dx + dy*dy
			if square < nearest {
				nearest = square
			}
			if square < p.nearest[j] {
				p.nearest[j] = square
			}
			p.raw[k] = math.Sqrt(square)
			k++
		}
		p.nearest[i] = nearest
	}
	for i, square := range p.nearest {
		p.nearest[i] = math.Sqrt(square)
	}
	p.sorter.Sort(p.distances, p.raw)
}

// quantile interpolates linearly between n sorted values, which are the quantiles
// k/(n−1), k = 0…n−1 (type 7 of Hyndman and Fan, NumPy's default).
func quantile(sorted []float64, u float64) float64 {
	at := u * float64(len(sorted)-1)
	k := min(int(at), len(sorted)-2)
	return sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
}
