//go:build !goexperiment.simd || !amd64

package metrics

// This build has no vectors.

func exps(dst *panel, a, v *block, u *[gridStep]float64) { expsPlain(dst, a, v, u) }

func multiply(dst, rows, factor *panel, row int) { multiplyPlain(dst, rows, factor, row) }

func outer(sums [][lanes]float64, columns int, left, right *panel) {
	outerPlain(sums, columns, left, right)
}

func (t task) weigh(s *scratch, at, lo, hi int, top float64, centre, star []float64) {
	t.weighPlain(s, at, lo, hi, top, centre, star)
}

func cosines(dst, value []float64, n int) { cosinesPlain(dst, value, n) }

func (p *polynomials) raise(terms int) { p.raisePlain(terms) }

func (g *grid) at(sums *[gridTargets]float64, terms [gridAxes]int) { g.atPlain(sums, terms) }
