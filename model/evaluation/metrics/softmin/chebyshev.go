package softmin

import "math"

const (
	gridNodes   = 36 // most nodes of an axis; a multiple of gridStep
	gridTargets = 16 // targets at which an expansion is summed at once
)

// chebyshev holds n nodes and the matrix of their cosine transform.
type chebyshev struct {
	node   []float64 // cos(π(k+½)/n)
	cosine []float64 // [k*stride+m]: (2/n) cos(mπ(k+½)/n), halved for m = 0
	stride int       // n, rounded up to whole vectors
}

// chebyshevs are indexed by the number of nodes: 1, or a multiple of gridStep.
var chebyshevs [gridNodes + 1]chebyshev

func init() {
	for n := range chebyshevs {
		if n != 1 && n%gridStep != 0 {
			continue
		}
		stride := (n + lanes - 1) / lanes * lanes
		c := chebyshev{make([]float64, n), make([]float64, n*stride), stride}
		for k := range n {
			angle := math.Pi * (float64(k) + 0.5) / float64(n)
			c.node[k] = math.Cos(angle)
			for m := range n {
				c.cosine[k*stride+m] = 2 / float64(n) * math.Cos(float64(m)*angle)
			}
			c.cosine[k*stride] /= 2
		}
		chebyshevs[n] = c
	}
}

// expand replaces the values at the nodes by coefficients. It returns how many along
// each axis leave a rest within the tolerance, rounded up to gridStep except along
// the first. It is not ok if those of the last two degrees exceed the tolerance.
func (g *grid) expand(tolerance float64) (terms [gridAxes]int, ok bool) {
	g.work = resized(g.work, len(g.value))
	for _, n := range g.nodes {
		if n > 1 {
			cosines(g.work, g.value, n)
			g.value, g.work = g.work, g.value
		}
	}
	var degrees [gridAxes][gridNodes]float64 // Σ |c| of each degree along an axis
	at := 0
	for m0 := range g.nodes[0] {
		for m1 := range g.nodes[1] {
			var row float64
			for m2 := range g.nodes[2] {
				c := math.Abs(g.value[at])
				row += c
				degrees[2][m2] += c
				at++
			}
			degrees[1][m1] += row
			degrees[0][m0] += row
		}
	}
	var last float64
	for axis, n := range g.nodes {
		if n > 1 {
			last += degrees[axis][n-1] + degrees[axis][n-2]
		}
		terms[axis] = termsWithin(degrees[axis][:n], tolerance)
		if axis > 0 {
			terms[axis] = (terms[axis] + gridStep - 1) / gridStep * gridStep
		}
	}
	return terms, last <= tolerance
}

// cosinesPlain is the cosine transform of n values along the first axis. The
// coefficients become the last axis: dst[r*n+m] is from value[k*rest+r].
func cosinesPlain(dst, value []float64, n int) {
	c := &chebyshevs[n]
	rest := len(value) / n
	clear(dst)
	for k := range n {
		cosine := c.cosine[k*c.stride:][:n]
		for r, v := range value[k*rest : (k+1)*rest] {
			to := dst[r*n : (r+1)*n]
			for m, w := range cosine {
				to[m] += w * v
			}
		}
	}
}

// termsWithin is the least number of leading terms that leave a rest of at most the
// tolerance.
func termsWithin(size []float64, tolerance float64) int {
	n := len(size)
	for rest := 0.0; n > 1; n-- {
		if rest += size[n-1]; rest > tolerance {
			break
		}
	}
	return n
}

// polynomials are T_m, m the row, at the targets.
type polynomials [gridNodes][gridTargets]float64

// extendPlain sets row 0, and rows 2 ≤ m < terms from row 1, which holds z:
// T_m = 2z T_{m−1} − T_{m−2}.
func (p *polynomials) extendPlain(terms int) {
	for i := range p[0] {
		p[0][i] = 1
	}
	for m := 2; m < terms; m++ {
		for i, z := range &p[1] {
			p[m][i] = 2*z*p[m-1][i] - p[m-2][i]
		}
	}
}

// evaluatePlain sums the expansion at the targets whose polynomials are set.
func (g *grid) evaluatePlain(sums *[gridTargets]float64, terms [gridAxes]int) {
	for m0 := range terms[0] {
		var plane [gridTargets]float64
		for m1 := range terms[1] {
			var line [gridTargets]float64
			row := g.value[(m0*g.nodes[1]+m1)*g.nodes[2]:][:terms[2]]
			for m2, c := range row {
				for i, p := range &g.polynomial[2][m2] {
					line[i] += c * p
				}
			}
			for i, p := range &g.polynomial[1][m1] {
				plane[i] += line[i] * p
			}
		}
		if m0 == 0 {
			*sums = plane
			continue
		}
		for i, p := range &g.polynomial[0][m0] {
			sums[i] += plane[i] * p
		}
	}
}
