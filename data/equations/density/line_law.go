package density

import (
	"math"
	"math/rand/v2"
	"sort"
)

// PDF is the density p(x): 0 beyond a finite end.
func (l *Line) PDF(x float64) float64 {
	k, side := l.locate(x)
	switch {
	case math.IsNaN(x):
		return x
	case !(x > l.Left.At && x < l.Right.At):
		return 0
	case side < 0 && l.tails[0].mass > 0:
		return l.tails[0].pdf(x)
	case side > 0 && l.tails[1].mass > 0:
		return l.tails[1].pdf(x)
	case side != 0:
		return 0
	}
	log, _, ok := l.within(k, x)
	if !ok {
		return 0
	}
	return math.Exp(log)
}

// CDF is the probability of (−∞, x].
func (l *Line) CDF(x float64) float64 {
	k, side := l.locate(x)
	switch {
	case math.IsNaN(x):
		return x
	case x <= l.Left.At:
		return 0
	case x >= l.Right.At:
		return 1
	case side < 0:
		return l.tails[0].beyond(x)
	case side > 0:
		return 1 - l.tails[1].beyond(x)
	}
	_, mass, ok := l.within(k, x)
	if !ok {
		return l.cdf[k]
	}
	return min(l.cdf[k]+mass, l.cdf[k+1])
}

// locate finds the panel of x. side is −1 or 1 where x is beyond all of them.
func (l *Line) locate(x float64) (k, side int) {
	n := len(l.edges) - 1
	switch {
	case x < l.edges[0]:
		return 0, -1
	case x > l.edges[n]:
		return 0, 1
	}
	return sort.Search(n-1, func(k int) bool { return l.edges[k+1] > x }), 0
}

// within integrates panel k up to x: the logarithm of p at x, and the mass. It fails where a
// coefficient has no value.
func (l *Line) within(k int, x float64) (logP, mass float64, ok bool) {
	q := l.quadrature
	part := []panel{{start: l.edges[k], width: x - l.edges[k]}}
	s := []float64{0}
	q.sigma(s, []float64{x})
	q.evaluate(part)
	if part[0].bad || !(math.Abs(s[0]) > 0) {
		return 0, 0, false
	}
	phi := l.phi[k] + part[0].change
	if part[0].width > 0 {
		mass = math.Exp(max(l.phi[k], phi) + part[0].logMass - l.logScale)
	}
	return phi - 2*math.Log(math.Abs(s[0])) - l.logScale, mass, true
}

// Quantile is the x with CDF(x) = u; the ends of the line at 0 and 1, and NaN outside [0, 1].
func (l *Line) Quantile(u float64) float64 {
	n := len(l.edges) - 1
	switch {
	case !(u >= 0 && u <= 1):
		return math.NaN()
	case u == 0:
		return l.Left.At
	case u == 1:
		return l.Right.At
	case u < l.cdf[0]:
		t := l.tails[0]
		return t.from + math.Copysign(t.reach(u), l.edges[0]-t.from)
	case l.tails[1].mass > 0 && 1-u < l.tails[1].mass:
		t := l.tails[1]
		return t.from + math.Copysign(t.reach(1-u), l.edges[n]-t.from)
	}
	k := sort.Search(n-1, func(k int) bool { return l.cdf[k+1] > u })
	lo, hi := l.edges[k], l.edges[k+1]
	x := lo
	if mass := l.cdf[k+1] - l.cdf[k]; mass > 0 {
		x += (hi - lo) * min((u-l.cdf[k])/mass, 1)
	}
	// Newton's method inside a shrinking bracket.
	for range 60 {
		logP, mass, ok := l.within(k, x)
		miss := l.cdf[k] + mass - u
		if !ok || miss == 0 {
			return x
		}
		if miss < 0 {
			lo = x
		} else {
			hi = x
		}
		next := x - miss/math.Exp(logP)
		if !(next >= lo && next <= hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-x) <= 1e-8*(l.edges[k+1]-l.edges[k]) { // convergence is quadratic
			return next
		}
		x = next
	}
	return x
}

// Knots are points of the law's graph in increasing order of x, with the CDF and the density
// there: those of the rules in all panels that have more than an outer probability on both sides.
func (l *Line) Knots(outer float64) (x, cdf, pdf []float64) {
	panels := len(l.cdf) - 1
	first := min(max(sort.SearchFloat64s(l.cdf, outer)-1, 0), panels-1)
	last := max(min(sort.SearchFloat64s(l.cdf, 1-outer), panels), first+1)
	n := order * (last - first)
	x, cdf, pdf = make([]float64, 0, n), make([]float64, 0, n), make([]float64, 0, n)
	for k := first; k < last; k++ {
		start, half := l.edges[k], (l.edges[k+1]-l.edges[k])/2
		p := (*[order]float64)(l.pdf[order*k:])
		for j := order - 1; j >= 0; j-- { // nodes decrease
			var mass float64
			for i, v := range p {
				mass += antiderivative[j][i] * v
			}
			x, cdf, pdf = append(x, start+half*(1+nodes[j])), append(cdf, l.cdf[k]+half*mass), append(pdf, p[j])
		}
	}
	return x, cdf, pdf
}

// Inverse is the quantile function as a table, for many draws.
func (l *Line) Inverse() *Inverse {
	x, cdf, pdf := l.Knots(0)
	q := &Inverse{exact: l.Quantile, knots: make([]knot, 0, len(x))}
	for i, u := range cdf {
		if u > 0 && u < 1 {
			q.add(u, x[i], pdf[i])
		}
	}
	q.index()
	return q
}

// Sample fills dst with independent draws, by the table of Inverse.
func (l *Line) Sample(dst []float64, rng *rand.Rand) {
	q := l.Inverse()
	for i := range dst {
		dst[i] = q.draw(rng)
	}
}
