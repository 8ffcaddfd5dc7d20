package metrics

import "math"

// grid interpolates sums in the plane, as line does on the line: the sum is
// taken on a tensor grid of Chebyshev nodes, and its expansion is summed at the
// targets. It serves boxes a few √ε wide that hold more targets than nodes.
type grid struct {
	value, coefficient [lineNodes * lineNodes]float64 // row after row
}

// chebyshev has the nodes and the cosine transform for n nodes.
type chebyshev struct {
	node   []float64   // cos(π(k+½)/n)
	cosine [][]float64 // [m][k]: (2/n) cos(mπ(k+½)/n), halved for m = 0
}

var chebyshevs [lineNodes + 1]chebyshev // by number of nodes

func init() {
	for n := 1; n <= lineNodes; n++ {
		c := chebyshev{make([]float64, n), make([][]float64, n)}
		for m := range n {
			c.cosine[m] = make([]float64, n)
			for k := range n {
				angle := math.Pi * (float64(k) + 0.5) / float64(n)
				c.node[k] = math.Cos(angle)
				c.cosine[m][k] = 2 / float64(n) * math.Cos(float64(m)*angle)
				if m == 0 {
					c.cosine[m][k] /= 2
				}
			}
		}
		chebyshevs[n] = c
	}
}

// gridNodes is how many nodes a box of half width r gets along an axis. Fewer
// resolve a smooth sum, but a grid that fails costs more than it saves.
func gridNodes(r, sigma float64) int {
	return int(10 + math.Ceil(min(10*r/sigma, 1000)))
}

// gridSingle is how many sums in tiles take the time of one at a node.
const gridSingle = 4

// gridTolerance bounds the last coefficients, relative to the smallest sum.
const gridTolerance = 1e-9

// gridPays says whether a box has more targets than its grid would have nodes,
// by as much as a node costs more than a target.
func (t task) gridPays(b *box) bool {
	if len(b.radius) != 2 {
		return false
	}
	sigma := math.Sqrt(t.eps)
	n0, n1 := gridNodes(b.radius[0], sigma), gridNodes(b.radius[1], sigma)
	targets := b.hi - b.lo
	if t.single {
		targets /= gridSingle
	}
	return n0 <= lineNodes && n1 <= lineNodes && n0*n1 < targets
}

// runGrid computes the targets of a box through its grid; it is false, and has
// done nothing, if that does not resolve the sum.
func (t task) runGrid(s *scratch, b *box) bool {
	var star [2]float64
	kept, top, ok := t.prepareSpace(s, b, star[:])
	if !ok {
		return false
	}
	sigma := math.Sqrt(t.eps)
	n0, n1 := gridNodes(b.radius[0], sigma), gridNodes(b.radius[1], sigma)
	g := &s.grid
	lowest := math.Inf(1)
	for k0, z0 := range chebyshevs[n0].node {
		for k1, z1 := range chebyshevs[n1].node {
			v := expSum(s.a[:kept], s.v, s.stride, []float64{b.radius[0] * z0, b.radius[1] * z1})
			g.value[k0*n1+k1] = v
			lowest = min(lowest, v)
		}
	}
	terms0, terms1, ok := g.expand(n0, n1, gridTolerance*lowest)
	if !ok {
		return false
	}
	inverse0, inverse1 := 0.0, 0.0 // a box may be flat
	if b.radius[0] > 0 {
		inverse0 = 1 / b.radius[0]
	}
	if b.radius[1] > 0 {
		inverse1 = 1 / b.radius[1]
	}
	x0, x1 := t.to.axis(0), t.to.axis(1)
	for i := b.lo; i < b.hi; i++ {
		u := [2]float64{x0[i] - b.centre[0], x1[i] - b.centre[1]}
		sum := g.at(u[0]*inverse0, u[1]*inverse1, n1, terms0, terms1)
		t.dst[i] = t.untilt(sum, top, u[:], star[:], b.centre)
	}
	return true
}

// expand computes the coefficients and how many along each axis are worth
// summing; it is not ok if those of the last two degrees of an axis are not
// small.
func (g *grid) expand(n0, n1 int, tolerance float64) (terms0, terms1 int, ok bool) {
	var half [lineNodes * lineNodes]float64 // transformed along the second axis
	for k0 := range n0 {
		row := g.value[k0*n1 : (k0+1)*n1]
		for m1, cosine := range chebyshevs[n1].cosine {
			var c float64
			for k1, v := range row {
				c += cosine[k1] * v
			}
			half[k0*n1+m1] = c
		}
	}
	var degree0, degree1 [lineNodes]float64 // Σ |c| of each degree along an axis
	for m0, cosine := range chebyshevs[n0].cosine {
		for m1 := range n1 {
			var c float64
			for k0, w := range cosine {
				c += w * half[k0*n1+m1]
			}
			g.coefficient[m0*n1+m1] = c
			degree0[m0] += math.Abs(c)
			degree1[m1] += math.Abs(c)
		}
	}
	if !(degree0[n0-1]+degree0[n0-2]+degree1[n1-1]+degree1[n1-2] <= tolerance) {
		return 0, 0, false
	}
	return worthwhile(degree0[:n0], tolerance), worthwhile(degree1[:n1], tolerance), true
}

// worthwhile is how many leading terms leave a rest of at most the tolerance.
func worthwhile(size []float64, tolerance float64) int {
	n := len(size)
	for rest := 0.0; n > 1; n-- {
		if rest += size[n-1]; rest > tolerance {
			break
		}
	}
	return n
}

// at sums the expansion at a point of [-1, 1]², by the recurrence T_{m+1} =
// 2z T_m − T_{m−1} along both axes.
func (g *grid) at(z0, z1 float64, stride, terms0, terms1 int) float64 {
	var polynomial [lineNodes]float64
	polynomial[0], polynomial[1] = 1, z1
	for m := 2; m < terms1; m++ {
		polynomial[m] = 2*z1*polynomial[m-1] - polynomial[m-2]
	}
	var sum float64
	before, now := z0, 1.0 // T_{-1} = T_1
	for m0 := range terms0 {
		row := g.coefficient[m0*stride : m0*stride+terms1]
		var s0, s1 float64
		m := 0
		for ; m+2 <= len(row); m += 2 {
			s0 += row[m] * polynomial[m]
			s1 += row[m+1] * polynomial[m+1]
		}
		if m < len(row) {
			s0 += row[m] * polynomial[m]
		}
		sum += (s0 + s1) * now
		before, now = now, 2*z0*now-before
	}
	return sum
}
