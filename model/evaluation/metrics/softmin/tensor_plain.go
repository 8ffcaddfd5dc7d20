//go:build !goexperiment.simd || !amd64

package softmin

// This build has no vectors.

func exps(dst *panel, a, v *block, u *[gridStep]float64) { expsPlain(dst, a, v, u) }

func multiply(dst, rows, factor *panel, row int) { multiplyPlain(dst, rows, factor, row) }

func outer(sums [][lanes]float64, columns int, left, right *panel) {
	outerPlain(sums, columns, left, right)
}
