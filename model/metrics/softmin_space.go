package metrics

import "math"

// runLeaf computes the targets of one leaf in two or more dimensions, by the
// sum of softmin_line.go written for vectors:
//
//	Σ_j exp(h_j − |x−y_j|²/2ε) = exp(A + u·(y*−c)/ε − |u|²/2ε) Σ_j exp(a_j + u·(y_j−y*)/ε).
//
// All large numbers are in A and the tilt, one per target; the exponents of
// sources that matter are small, so they are exact where it counts.
func (t task) runLeaf(s *scratch) {
	var (
		d              = t.to.d
		centre, radius [MaxDimension]float64
		star, u        [MaxDimension]float64
	)
	for k := range d {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, p := range t.to.axis(k)[t.lo:t.hi] {
			lo, hi = min(lo, p), max(hi, p)
		}
		centre[k] = 0.5*lo + 0.5*hi
		radius[k] = max(hi-centre[k], centre[k]-lo)
	}
	kept, top, ok := t.prepareSpace(s, centre[:d], radius[:d], star[:d])
	if !ok {
		left, right := t, t
		left.hi = (t.lo + t.hi) / 2
		right.lo = left.hi
		left.runLeaf(s)
		right.runLeaf(s)
		return
	}
	shift := t.eps * (math.Log(float64(t.from.n)) - math.Ln2*top)
	for i := t.lo; i < t.hi; i++ {
		var tilt float64
		for k := range d {
			u[k] = t.to.x[k*t.to.n+i] - centre[k]
			tilt += u[k] * (0.5*u[k] - (star[k] - centre[k]))
		}
		t.dst[i] = shift - t.eps*math.Log(expSum(s.a[:kept], s.v, s.stride, u[:d])) + tilt
	}
}

// prepareSpace is prepare for vectors; it writes y* to star.
func (t task) prepareSpace(s *scratch, centre, radius, star []float64) (kept int, top float64, ok bool) {
	n, d := t.from.n, len(centre)
	s.reserve(n, d)
	all := s.all
	copy(all, t.exponent)
	curvature := math.Log2E / (2 * t.eps)
	for k := range d {
		c := centre[k]
		for j, p := range t.from.axis(k) {
			z := p - c
			all[j] -= curvature * z * z
		}
	}
	best := 0
	for j, e := range all {
		if e > all[best] {
			best = j
		}
	}
	top = all[best]
	slope := math.Log2E / t.eps
	for k := range d {
		star[k] = t.from.x[k*n+best]
	}
	for j, e := range all {
		e -= top
		var swing float64
		for k := range d {
			swing += math.Abs(t.from.x[k*n+j]-star[k]) * radius[k]
		}
		swing *= slope
		if e+swing < -lineCut {
			continue
		}
		if swing-e > exponentRange {
			return 0, 0, false
		}
		s.a[kept] = e
		for k := range d {
			s.v[k*s.stride+kept] = (t.from.x[k*n+j] - star[k]) * slope
		}
		kept++
	}
	return pad(s.a, s.v, s.stride, kept, d), top, true
}
