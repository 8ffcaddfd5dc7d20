package metrics

import "slices"

// measure is a cloud prepared for softmins: float64, and ordered so that
// neighbours in memory are neighbours in space. The order does not matter to a
// mean over all points.
type measure struct {
	n, d   int
	x      []float64 // coordinate d of point i is x[d*n+i]
	leaves [][2]int  // ranges of points that share a small box; nil in one dimension
}

func newMeasure(c Cloud) *measure {
	m := &measure{n: c.N, d: c.D, x: make([]float64, len(c.X))}
	if c.D == 1 {
		for i, v := range c.X {
			m.x[i] = float64(v)
		}
		slices.Sort(m.x)
		return m
	}
	order := make([]int32, c.N)
	for i := range order {
		order[i] = int32(i)
	}
	m.split(c, order, 0)
	for i, p := range order {
		for d := range c.D {
			m.x[d*c.N+i] = float64(c.X[int(p)*c.D+d])
		}
	}
	return m
}

// axis returns the coordinates along one dimension.
func (m *measure) axis(d int) []float64 { return m.x[d*m.n : (d+1)*m.n] }

// leafPoints is how many targets of a k-d leaf share the preparation of their
// sources.
const leafPoints = 32

// split orders the points into a k-d tree: it halves the range along its widest
// axis, at the median, until few are left. first is the place of order[0].
func (m *measure) split(c Cloud, order []int32, first int) {
	if len(order) <= leafPoints {
		m.leaves = append(m.leaves, [2]int{first, first + len(order)})
		return
	}
	widest, width := 0, float32(-1)
	for d := range c.D {
		lo, hi := c.X[int(order[0])*c.D+d], c.X[int(order[0])*c.D+d]
		for _, p := range order {
			v := c.X[int(p)*c.D+d]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > width {
			widest, width = d, hi-lo
		}
	}
	slices.SortStableFunc(order, func(i, j int32) int {
		a, b := c.X[int(i)*c.D+widest], c.X[int(j)*c.D+widest]
		switch {
		case a < b:
			return -1
		case a > b:
			return 1
		}
		return 0
	})
	half := (len(order) + 1) / 2
	m.split(c, order[:half], first)
	m.split(c, order[half:], first+half)
}
