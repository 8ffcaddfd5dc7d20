//go:build !goexperiment.simd || !amd64

package softmin

// This build has no vectors.

func cosines(dst, value []float64, n int) { cosinesPlain(dst, value, n) }

func (p *polynomials) extend(terms int) { p.extendPlain(terms) }

func (g *grid) evaluate(sums *[gridTargets]float64, terms [gridAxes]int) {
	g.evaluatePlain(sums, terms)
}
