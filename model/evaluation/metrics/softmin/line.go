package softmin

import "math"

// In one dimension, with u = x − c the displacement of a target from the centre
// c of its interval and y* the source that dominates at c,
//
//	Σ_j exp(h_j − (x−y_j)²/2ε) = exp(A + u(y*−c)/ε − u²/2ε) · S(u),
//	S(u) = Σ_j exp(a_j + u(y_j−y*)/ε),   a_j = h_j − (y_j−c)²/2ε − A ≤ 0.
//
// S is entire, positive and convex, and within a few √ε few Chebyshev nodes resolve
// it. So it is summed at the nodes and interpolated at the targets. The coefficients
// of even degree are sums of positive terms (modified Bessel functions of the
// slopes), so a small last coefficient proves that the tail is small. Where it is
// not, for instance where targets of one interval go to two modes, the interval is
// halved, down to intervals of few targets, which are summed directly. Heavy tails
// therefore cost time, not accuracy.
const (
	lineNodes     = 24
	lineWidth     = 5.0  // first intervals are at most this many √ε wide
	lineTolerance = 1e-9 // of the last coefficients, relative to the smallest S
	lineCut       = 40.0 // sources below 2^-40 of the largest in all of the interval are dropped
)

// line holds the values and coefficients of one interval.
type line struct {
	value, coefficient [lineNodes]float64
}

var (
	lineNode   [lineNodes]float64            // cos(π(k+½)/n)
	lineCosine [lineNodes][lineNodes]float64 // (2/n) cos(mπ(k+½)/n), halved for m = 0
)

func init() {
	for k := range lineNodes {
		angle := math.Pi * (float64(k) + 0.5) / lineNodes
		lineNode[k] = math.Cos(angle)
		for m := range lineNodes {
			lineCosine[m][k] = 2. / lineNodes * math.Cos(float64(m)*angle)
		}
		lineCosine[0][k] /= 2
	}
}

// appendIntervals cuts the sorted targets into intervals of bounded width.
func appendIntervals(tasks []task, whole task) []task {
	x, width := whole.To.x, lineWidth*math.Sqrt(whole.eps)
	for lo := 0; lo < len(x); {
		hi := lo + 1
		for hi < len(x) && x[hi]-x[lo] <= width {
			hi++
		}
		whole.lo, whole.hi = lo, hi
		tasks = append(tasks, whole)
		lo = hi
	}
	return tasks
}

// runInterval computes the targets of one interval of the line.
func (t task) runInterval(s *scratch) {
	x := t.To.x[t.lo:t.hi]
	centre := 0.5*x[0] + 0.5*x[len(x)-1]
	radius := max(x[len(x)-1]-centre, centre-x[0])
	kept, top, star, ok := t.prepare(s, centre, radius)
	if !ok {
		t.halve(s, len(x)/2)
		return
	}
	a, v := s.a[:kept], s.v[:kept]
	shift := t.eps * (math.Log(float64(t.From.n)) - math.Ln2*top)
	tilt := star - centre
	dst := t.Dst[t.lo:t.hi]
	if len(x) <= lineNodes || radius == 0 {
		for i, p := range x {
			if i > 0 && p == x[i-1] {
				dst[i] = dst[i-1]
				continue
			}
			u := p - centre
			dst[i] = shift - t.eps*math.Log(expSum(a, v, 0, []float64{u})) - u*tilt + 0.5*u*u
		}
		return
	}

	lowest := math.Inf(1)
	for k, node := range lineNode {
		s.line.value[k] = expSum(a, v, 0, []float64{radius * node})
		lowest = min(lowest, s.line.value[k])
	}
	terms, ok := s.line.expand(lineTolerance * lowest)
	if !ok {
		middle := 1
		for middle < len(x)-1 && x[middle] < centre {
			middle++
		}
		t.halve(s, middle)
		return
	}
	s.line.interpolate(dst, x, centre, radius, terms)
	for i, p := range x {
		u := p - centre
		dst[i] = shift - t.eps*math.Log(dst[i]) - u*tilt + 0.5*u*u
	}
}

// halve computes the targets before middle and those from it on separately.
func (t task) halve(s *scratch, middle int) {
	left, right := t, t
	left.hi, right.lo = t.lo+middle, t.lo+middle
	left.runInterval(s)
	right.runInterval(s)
}

// prepare writes a_j and v_j = (y_j−y*)/ε, in units of log 2, of the sources that
// matter for |u| ≤ radius to the scratch. It returns their number (padded), the
// maximum A and y*. It is not ok if an exponent could leave the range of exp2; with
// radius 0 none can.
func (t task) prepare(s *scratch, centre, radius float64) (kept int, top, star float64, ok bool) {
	y, h := t.From.x, t.exponent
	s.reserve(len(y), 1)
	a, v := s.a, s.v
	curvature, slope := math.Log2E/(2*t.eps), math.Log2E/t.eps
	reach := slope * radius

	// The largest exponent at the centre, from the groups that may hold it.
	s.bounds = resized(s.bounds, len(t.highest))
	bounds := s.bounds
	likely := 0
	for g, highest := range t.highest {
		d := distance(centre, y[g*groupPoints], y[min((g+1)*groupPoints, len(y))-1])
		bounds[g] = highest - curvature*d*d
		if bounds[g] > bounds[likely] {
			likely = g
		}
	}
	best := likely * groupPoints
	top = math.Inf(-1)
	for step := range bounds {
		g := step // the likely group comes first: its maximum rules most others out
		if step == 0 {
			g = likely
		} else if step <= likely {
			g = step - 1
		}
		if bounds[g] < top {
			continue
		}
		for j := g * groupPoints; j < min((g+1)*groupPoints, len(y)); j++ {
			d := y[j] - centre
			if e := h[j] - curvature*d*d; e > top {
				best, top = j, e
			}
		}
	}
	star = y[best]

	for g, bound := range bounds {
		lo, hi := g*groupPoints, min((g+1)*groupPoints, len(y))
		if bound-top+reach*max(math.Abs(y[lo]-star), math.Abs(y[hi-1]-star)) < -lineCut {
			continue
		}
		for j := lo; j < hi; j++ {
			d := y[j] - centre
			e := h[j] - curvature*d*d - top
			d = y[j] - star
			swing := math.Abs(d) * reach
			if e+swing < -lineCut {
				continue
			}
			if swing-e > exponentRange { // e ≤ 0: bounds both signs of the swing
				return 0, 0, 0, false
			}
			a[kept], v[kept] = e, d*slope
			kept++
		}
	}
	return pad(a, v, s.stride, kept, 1, lanes), top, star, true
}

// distance is that of a point x from an interval.
func distance(x, lo, hi float64) float64 { return max(lo-x, x-hi, 0) }

// expand computes the Chebyshev coefficients of the values, and how many of them
// leave a rest within the tolerance. It is not ok if the last two exceed it.
func (l *line) expand(tolerance float64) (terms int, ok bool) {
	for m := range lineNodes {
		var c float64
		for k, cosine := range lineCosine[m] {
			c += cosine * l.value[k]
		}
		l.coefficient[m] = c
	}
	if !(math.Abs(l.coefficient[lineNodes-1])+math.Abs(l.coefficient[lineNodes-2]) <= tolerance) {
		return 0, false
	}
	terms = lineNodes
	for rest := 0.0; terms > 2; terms-- {
		if rest += math.Abs(l.coefficient[terms-1]); rest > tolerance {
			break
		}
	}
	return terms, true
}

// interpolate sums the first terms at the targets by Clenshaw's recurrence,
// four targets at a time.
func (l *line) interpolate(dst, x []float64, centre, radius float64, terms int) {
	c := l.coefficient[:terms]
	inverse := 2 / radius
	i := 0
	for ; i+4 <= len(x); i += 4 {
		z0, z1, z2, z3 := (x[i]-centre)*inverse, (x[i+1]-centre)*inverse, (x[i+2]-centre)*inverse, (x[i+3]-centre)*inverse
		var p0, p1, p2, p3, q0, q1, q2, q3 float64
		for m := len(c) - 1; m > 0; m-- {
			p0, q0 = z0*p0-q0+c[m], p0
			p1, q1 = z1*p1-q1+c[m], p1
			p2, q2 = z2*p2-q2+c[m], p2
			p3, q3 = z3*p3-q3+c[m], p3
		}
		dst[i] = 0.5*z0*p0 - q0 + c[0]
		dst[i+1] = 0.5*z1*p1 - q1 + c[0]
		dst[i+2] = 0.5*z2*p2 - q2 + c[0]
		dst[i+3] = 0.5*z3*p3 - q3 + c[0]
	}
	for ; i < len(x); i++ {
		z := (x[i] - centre) * inverse
		var p, q float64
		for m := len(c) - 1; m > 0; m-- {
			p, q = z*p-q+c[m], p
		}
		dst[i] = 0.5*z*p - q + c[0]
	}
}
