package softmin

const (
	gridStep    = 3  // numbers of nodes are multiples of it: kernels multiply three rows by three
	gridSources = 64 // sources of a block, whose factors stay in the L1 cache
)

// panel holds three rows of values at a block of sources, in the order in which
// kernels read them.
type panel [gridSources / lanes][gridStep][lanes]float64

// block is one number per source of a block.
type block = [gridSources]float64

// tensorSums sets value to the sum over the sources a, v at each node. On a grid
// that is a product of matrices,
//
//	S(u) = Σ_j 2^(a_j + u_0 v_0j) · 2^(u_1 v_1j) · 2^(u_2 v_2j),
//
// so a source takes an exponential for each node of an axis, but only a
// multiplication for each node of the grid.
func (g *grid) tensorSums(a, v []float64, stride int, radius []float64) {
	missing := gridAxes - len(radius)
	for axis, n := range g.nodes {
		g.factor[axis] = resized(g.factor[axis], n/gridStep)
	}
	left := g.factor[1]
	if missing == 0 {
		g.left = resized(g.left, len(left))
		left = g.left
	}
	plane := g.nodes[1] * g.nodes[2]
	g.sums = resized(g.sums, g.nodes[0]*plane)
	clear(g.sums)
	var zero block
	var tail [gridAxes + 1]block
	for lo := 0; lo < len(a); lo += gridSources {
		base := filled(a[lo:], -exponentRange, &tail[gridAxes])
		for k, r := range radius {
			slope := filled(v[k*stride+lo:k*stride+len(a)], 0, &tail[k])
			node := chebyshevs[g.nodes[missing+k]].node
			for i := range g.factor[missing+k] {
				z := node[i*gridStep:][:gridStep]
				exps(&g.factor[missing+k][i], base, slope, &[gridStep]float64{r * z[0], r * z[1], r * z[2]})
			}
			base = &zero
		}
		if missing > 0 {
			g.products(g.sums, left)
			continue
		}
		for k0 := range g.nodes[0] {
			for i := range left {
				multiply(&left[i], &g.factor[1][i], &g.factor[0][k0/gridStep], k0%gridStep)
			}
			g.products(g.sums[k0*plane:(k0+1)*plane], left)
		}
	}
	g.value = resized(g.value, len(g.sums))
	for i, s := range g.sums {
		g.value[i] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	}
}

// filled returns the first block of x; of a shorter x, a copy in tail that is filled
// up.
func filled(x []float64, with float64, tail *block) *block {
	if len(x) >= gridSources {
		return (*block)(x)
	}
	for i := copy(tail[:], x); i < gridSources; i++ {
		tail[i] = with
	}
	return tail
}

// products adds the products of all rows of left with all rows of the last axis's
// factors to sums.
func (g *grid) products(sums [][lanes]float64, left []panel) {
	columns := g.nodes[2]
	for i := range left {
		for k := range g.factor[2] {
			at := i*gridStep*columns + k*gridStep
			outer(sums[at:at+2*columns+gridStep], columns, &left[i], &g.factor[2][k])
		}
	}
}

// expsPlain sets row i of dst to 2^(a_j + u_i v_j). Exponents must be within
// ±exponentRange.
func expsPlain(dst *panel, a, v *block, u *[gridStep]float64) {
	for j, base := range a {
		for i, w := range u {
			dst[j/lanes][i][j%lanes] = exp2(base + w*v[j])
		}
	}
}

// multiplyPlain sets each row of dst to that of rows times row number row of factor.
func multiplyPlain(dst, rows, factor *panel, row int) {
	for j := range dst {
		for i := range dst[j] {
			for lane, f := range &factor[j][row] {
				dst[j][i][lane] = rows[j][i][lane] * f
			}
		}
	}
}

// outerPlain adds the scalar product of row i of left and row k of right to
// sums[i*columns+k], spread over its lanes.
func outerPlain(sums [][lanes]float64, columns int, left, right *panel) {
	for i := range gridStep {
		for k := range gridStep {
			sum := &sums[i*columns+k]
			for j := range left {
				for lane := range lanes {
					sum[lane] += left[j][i][lane] * right[j][k][lane]
				}
			}
		}
	}
}
