//go:build !goexperiment.simd || !amd64

package softmin

// This build has no vectors.

func cosines(dst, value []float64, n int) { cosinesPlain(dst, value, n) }

func (p *polynomials) raise(terms int) { p.raisePlain(terms) }

func (g *grid) at(sums *[gridTargets]float64, terms [gridAxes]int) { g.atPlain(sums, terms) }
