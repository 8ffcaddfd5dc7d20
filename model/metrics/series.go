package metrics

import "math"

// While √ε is wide the sum of softmin_space.go is smooth enough for a power
// series. With the weights w_j = exp(a_j), their sum W, the weighted mean ȳ of
// the sources in the place of y*, u in units of σ and v_j = (y_j−ȳ)/σ,
//
//	Σ_j w_j exp(u·v_j) ≈ Σ_{|α| ≤ p} u^α M_α,   M_α = Σ_j w_j v_j^α / α!,
//
// which takes as many terms per source and per target as there are monomials of
// degree p or less, instead of one exponential per pair. The mean of exp(u·v) is
// at least 1, as that of u·v is 0, so the rest is at most the mean of
//
//	q^k e^q / k!,   k = p + 1,   q = |v| max |u|,
//
// of the sum: p is the first degree where that is below seriesTolerance.
const (
	seriesTolerance = 1e-8
	seriesDegree    = 40   // degrees beyond are not tried
	seriesReach     = 16.0 // nor boxes with larger q than that
	seriesTry       = 10.0 // nor those whose corners have larger q than that
	seriesBins      = 64   // of q
)

// series holds points, padded to a multiple of seriesPoints and in units of σ:
// first the sources, then the targets.
type series struct {
	weight, point, sum []float64 // coordinate k of point j is point[k*stride+j]
	walk               seriesWalk
}

// seriesPays says whether a box has so many targets, and so close together, that
// a series may be faster than tiles.
func (t task) seriesPays(b *box) bool {
	d := t.to.d
	if !t.single || d < 3 || b.hi-b.lo < 4*tileTargets {
		return false
	}
	var squares [2]float64
	for k := range d {
		squares[0] += b.radius[k] * b.radius[k]
		r := t.from.tree[0].radius[k]
		squares[1] += r * r
	}
	return squares[0]*squares[1] <= seriesTry*seriesTry*t.eps*t.eps
}

// monomials is the number of those of degree p or less in d variables, or more
// than most if there are more than that.
func monomials(p, d, most int) int {
	count := 1
	for k := 1; k <= d && count <= most; k++ {
		count = count * (p + k) / k
	}
	return count
}

// runSeries computes the targets of a box by a power series; it is false, and
// has done nothing, if that needs too many terms.
func (t task) runSeries(s *scratch, b *box) bool {
	d, n, w := t.to.d, t.from.n, &s.series
	sigma := math.Sqrt(t.eps)
	curvature := math.Log2E / (2 * t.eps)
	stride := (n + seriesPoints - 1) / seriesPoints * seriesPoints
	w.weight, w.point = resized(w.weight, stride), resized(w.point, stride*d)
	clear(w.weight[n:])
	top := math.Inf(-1)
	for j := range n {
		var square float64
		for k, c := range b.centre {
			z := t.from.x[k*n+j] - c
			square += z * z
		}
		e := t.exponent[j] - curvature*square
		w.weight[j] = e
		top = max(top, e)
	}
	var total float64
	for j, e := range w.weight[:n] {
		v := exp2(max(e-top, -exponentRange))
		w.weight[j] = v
		total += v
	}
	var mean [MaxDimension]float64
	for k := range d {
		var sum float64
		for j, y := range t.from.axis(k) {
			sum += w.weight[j] * y
		}
		mean[k] = sum / total
		v := w.point[k*stride : (k+1)*stride]
		for j, y := range t.from.axis(k) {
			v[j] = (y - mean[k]) / sigma
		}
		clear(v[n:])
	}
	degree := t.seriesDegree(w, b, stride, total)
	targets := b.hi - b.lo
	most := int(seriesPerPair * float64(n) * float64(targets) / float64(n+targets))
	if degree < 0 || monomials(degree, d, most) > most {
		return false
	}
	w.moments(stride, d, degree, monomials(degree, d, most))

	stride = (targets + seriesPoints - 1) / seriesPoints * seriesPoints
	w.sum, w.point = resized(w.sum, stride), resized(w.point, stride*d)
	for k, c := range b.centre {
		u := w.point[k*stride : (k+1)*stride]
		for i, x := range t.to.axis(k)[b.lo:b.hi] {
			u[i] = (x - c) / sigma
		}
		clear(u[targets:])
	}
	w.evaluate(stride, d, degree)
	var u [MaxDimension]float64
	for i := range targets {
		for k, c := range b.centre {
			u[k] = t.to.x[k*t.to.n+b.lo+i] - c
		}
		t.dst[b.lo+i] = t.untilt(w.sum[i], top, u[:d], mean[:d], b.centre)
	}
	return true
}

// seriesDegree is p, or −1 if it would be above seriesDegree.
func (t task) seriesDegree(w *series, b *box, stride int, total float64) int {
	var farthest float64 // u²
	for i := b.lo; i < b.hi; i++ {
		var square float64
		for k, c := range b.centre {
			z := t.to.x[k*t.to.n+i] - c
			square += z * z
		}
		farthest = max(farthest, square)
	}
	reach := math.Sqrt(farthest / t.eps)
	var weights [seriesBins]float64 // by q, those of bin b are at most (b+1)/seriesBins of seriesReach
	for j, weight := range w.weight[:t.from.n] {
		var square float64
		for k := range t.to.d {
			v := w.point[k*stride+j]
			square += v * v
		}
		bin := reach * math.Sqrt(square) * (seriesBins / seriesReach)
		if !(bin < seriesBins) {
			return -1
		}
		weights[int(bin)] += weight
	}
	for bin := range weights {
		weights[bin] *= math.Exp(float64(bin+1)*(seriesReach/seriesBins)) / total
	}
	for k := 1; k <= seriesDegree+1; k++ {
		var rest float64
		for bin := range weights {
			weights[bin] *= float64(bin+1) * (seriesReach / seriesBins) / float64(k)
			rest += weights[bin]
		}
		if rest <= seriesTolerance {
			return k - 1
		}
	}
	return -1
}
