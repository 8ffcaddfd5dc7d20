package metrics

// seriesPoints are taken at once, so that walking through the monomials costs
// little.
const seriesPoints = 32

// seriesBlock is a number for each of them.
type seriesBlock [seriesPoints]float64

// seriesWalk goes through the monomials of degree p or less: for each power of
// the first variable those of the others, and so on. For each monomial of all
// but the last variable the powers of that are one run of coefficients.
type seriesWalk struct {
	moment   []float64      // M_α in the order of the walk
	lanes    [][8]float64   // what adds up to it
	variable []*seriesBlock // of the block of points
	factor   []seriesBlock  // the monomial of the variables before each
	at       int
}

// moments sets M_α for the sources.
func (w *series) moments(stride, d, degree, terms int) {
	walk := &w.walk
	walk.moment, walk.lanes = resized(walk.moment, terms), resized(walk.lanes, terms)
	clear(walk.lanes)
	for first := 0; first < stride; first += seriesPoints {
		walk.begin(w.point, stride, first, d)
		walk.factor[0] = seriesBlock(w.weight[first:])
		walk.add(0, degree)
	}
	for i := range walk.lanes {
		l := &walk.lanes[i]
		walk.moment[i] = ((l[0] + l[4]) + (l[2] + l[6])) + ((l[1] + l[5]) + (l[3] + l[7]))
	}
	walk.at = 0
	walk.divide(0, d, degree, 1)
}

// evaluate sets the sums at the targets.
func (w *series) evaluate(stride, d, degree int) {
	for first := 0; first < stride; first += seriesPoints {
		w.walk.begin(w.point, stride, first, d)
		for i := range w.walk.factor[0] {
			w.walk.factor[0][i] = 1
		}
		sum := (*seriesBlock)(w.sum[first:])
		*sum = seriesBlock{}
		w.walk.sum(sum, 0, degree)
	}
}

// begin takes a block of points.
func (w *seriesWalk) begin(point []float64, stride, first, d int) {
	w.at = 0
	w.variable, w.factor = resized(w.variable, d), resized(w.factor, d)
	for k := range w.variable {
		w.variable[k] = (*seriesBlock)(point[k*stride+first:])
	}
}

// add adds the block to the coefficients of the monomials of degree left or less
// in the variables from k on, times the factor of those before.
func (w *seriesWalk) add(k, left int) {
	if k == len(w.variable)-1 {
		addPowers(w.lanes[w.at:w.at+left+1], &w.factor[k], w.variable[k])
		w.at += left + 1
		return
	}
	w.factor[k+1] = w.factor[k]
	for ; left >= 0; left-- {
		w.add(k+1, left)
		multiply(&w.factor[k+1], w.variable[k])
	}
}

// sum adds to the sums at the block what add has added to coefficients.
func (w *seriesWalk) sum(sums *seriesBlock, k, left int) {
	if k == len(w.variable)-1 {
		sumPowers(sums, w.moment[w.at:w.at+left+1], &w.factor[k], w.variable[k])
		w.at += left + 1
		return
	}
	w.factor[k+1] = w.factor[k]
	for ; left >= 0; left-- {
		w.sum(sums, k+1, left)
		multiply(&w.factor[k+1], w.variable[k])
	}
}

// divide divides the coefficients by α!.
func (w *seriesWalk) divide(k, d, left int, factorial float64) {
	for power := range left + 1 {
		if power > 0 {
			factorial *= float64(power)
		}
		if k < d-1 {
			w.divide(k+1, d, left-power, factorial)
			continue
		}
		w.moment[w.at] /= factorial
		w.at++
	}
}

// multiplyPlain sets x to x y.
func multiplyPlain(x, y *seriesBlock) {
	for i, v := range y {
		x[i] *= v
	}
}

// addPowersPlain adds up factor y^k over the block, in lanes, to that of each k.
func addPowersPlain(lanes [][8]float64, factor, y *seriesBlock) {
	v := *factor
	for k := range lanes {
		for i, p := range v {
			lanes[k][i%8] += p
		}
		multiplyPlain(&v, y)
	}
}

// sumPowersPlain adds factor Σ_k moment_k y^k to the sums at the block.
func sumPowersPlain(sums *seriesBlock, moment []float64, factor, y *seriesBlock) {
	for i, v := range y {
		var sum float64
		for k := len(moment) - 1; k >= 0; k-- {
			sum = sum*v + moment[k]
		}
		sums[i] += factor[i] * sum
	}
}
