package observables

import (
	"math"
	"slices"
)

// pairs holds the distances within one state; it is for one goroutine.
type pairs struct {
	particles int
	distances []float64 // of the pairs i < j, sorted by measure
	nearest   []float64 // of each particle, the distance to its nearest neighbour
	raw       []float64 // distances before sorting
	ends      []int32   // of the buckets
}

func newPairs(particles int) *pairs {
	n := particles * (particles - 1) / 2
	return &pairs{
		particles: particles,
		distances: make([]float64, n), raw: make([]float64, n),
		nearest: make([]float64, particles),
		ends:    make([]int32, n+1),
	}
}

// measure fills in the distances of a state.
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
			nearest = min(nearest, square)
			p.nearest[j] = min(p.nearest[j], square)
			p.raw[k] = math.Sqrt(square)
			k++
		}
		p.nearest[i] = nearest
	}
	for i, square := range p.nearest {
		p.nearest[i] = math.Sqrt(square)
	}
	p.sort()
}

// sort puts raw into distances in rising order: into as many equal buckets as
// there are pairs, each then sorted. Distances spread enough that a bucket has
// one or two; where they do not, this is an ordinary sort.
func (p *pairs) sort() {
	lo, hi := slices.Min(p.raw), slices.Max(p.raw)
	if lo == hi {
		copy(p.distances, p.raw)
		return
	}
	last := len(p.raw) - 1
	scale := float64(last) / (hi - lo)
	bucket := func(r float64) int { return min(int((r-lo)*scale), last) }
	clear(p.ends)
	for _, r := range p.raw {
		p.ends[bucket(r)+1]++
	}
	for b := range last {
		p.ends[b+1] += p.ends[b]
	}
	for _, r := range p.raw { // ends are starts here, and move up to ends
		b := bucket(r)
		p.distances[p.ends[b]] = r
		p.ends[b]++
	}
	start := int32(0)
	for _, end := range p.ends[:last+1] {
		if end-start > 1 {
			slices.Sort(p.distances[start:end])
		}
		start = end
	}
}

// quantile interpolates between sorted values, of which n quantiles are
// k/(n−1), k = 0…n−1 (type 7 of Hyndman and Fan, as NumPy does by default).
func quantile(sorted []float64, u float64) float64 {
	at := u * float64(len(sorted)-1)
	k := min(int(at), len(sorted)-2)
	return sorted[k] + (at-float64(k))*(sorted[k+1]-sorted[k])
}
