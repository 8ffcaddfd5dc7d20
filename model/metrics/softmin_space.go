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
	top, ok := t.prepareSpace(s, centre[:d], radius[:d], star[:d])
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
		t.dst[i] = shift - t.eps*math.Log(expSumSpace(s.a, s.v[:d], u[:d])) + tilt
	}
}

// prepareSpace is prepare for vectors: it leaves a and v in the scratch and
// writes y* to star.
func (t task) prepareSpace(s *scratch, centre, radius, star []float64) (top float64, ok bool) {
	n, d := t.from.n, len(centre)
	s.all = resized(s.all, n)
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
	s.a = resized(s.a, n)
	for len(s.v) < d {
		s.v = append(s.v, nil)
	}
	for k := range d {
		s.v[k] = resized(s.v[k], n)
	}
	kept := 0
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
			return 0, false
		}
		s.a[kept] = e
		for k := range d {
			s.v[k][kept] = (t.from.x[k*n+j] - star[k]) * slope
		}
		kept++
	}
	s.a = s.a[:kept]
	for k := range d {
		s.v[k] = s.v[k][:kept]
	}
	return top, true
}

// expSumSpace is Σ_j 2^(a_j + Σ_k u_k v_kj).
func expSumSpace(a []float64, v [][]float64, u []float64) float64 {
	var exponent [256]float64
	var sum float64
	for lo := 0; lo < len(a); lo += len(exponent) {
		hi := min(lo+len(exponent), len(a))
		e := exponent[:hi-lo]
		copy(e, a[lo:hi])
		for k, w := range u {
			for j, slope := range v[k][lo:hi] {
				e[j] += w * slope
			}
		}
		var part float64
		for _, x := range e {
			part += exp2(x)
		}
		sum += part
	}
	return sum
}
