package softmin

import "math"

// In more dimensions the sum of line.go is, with u = x − c,
//
//	Σ_j exp(h_j − |x−y_j|²/2ε) = exp(A + u·(y*−c)/ε − |u|²/2ε) Σ_j exp(a_j + u·(y_j−y*)/ε)
//
// over the sources near enough to matter in the box around c. All large numbers
// are in A and in the tilt u·(y*−c)/ε, once per target. The exponents of sources
// that matter are small, so their rounding is too, in float32 even (tile.go).
// Boxes are nodes of the targets' k-d tree: leaves; for tiles, nodes that fit into
// one frame; for grids, larger ones.

// within reports whether a box's half diagonal is at most that many σ.
func (t task) within(b *box, sigmas float64) bool {
	var square float64
	for _, r := range b.radius {
		square += r * r
	}
	return square <= sigmas*sigmas*t.eps
}

// runEach sums in float64 at each target of a box. It is false, and has done
// nothing, if an exponent could leave the range of exp2.
func (t task) runEach(s *scratch, b *box) bool {
	var star, u [MaxDimension]float64
	d := t.To.d
	kept, top, ok := t.prepareSpace(s, b, star[:d])
	if !ok {
		return false
	}
	for i := b.lo; i < b.hi; i++ {
		for k := range d {
			u[k] = t.To.x[k*t.To.n+i] - b.centre[k]
		}
		sum := expSum(s.a[:kept], s.v, s.stride, u[:d])
		t.Dst[i] = t.untilt(sum, top, u[:d], star[:d], b.centre)
	}
	return true
}

// untilt is the softmin at c + u, given the sum over the tilted exponents.
func (t task) untilt(sum, top float64, u, star, centre []float64) float64 {
	f := t.eps * (math.Log(float64(t.From.n)/sum) - math.Ln2*top)
	for k, v := range u {
		f += v * (0.5*v - (star[k] - centre[k]))
	}
	return f
}

// matters reports whether a group's terms can be more than 2^-cut of y*'s at any
// target of the box.
func (t task) matters(bound, top, cut float64, b, group *box, star []float64) bool {
	var swing float64
	for axis, r := range b.radius {
		swing += r * (math.Abs(group.centre[axis]-star[axis]) + group.radius[axis])
	}
	return bound-top+math.Log2E/t.eps*swing >= -cut
}

// prepareSpace is prepare in more dimensions, for the targets in b. It writes y* to
// star.
func (t task) prepareSpace(s *scratch, b *box, star []float64) (kept int, top float64, ok bool) {
	d := len(star)
	s.reserve(t.From.n, d)
	top = t.dominant(s, b, star)
	for k := range t.From.groups {
		g := &t.From.groups[k]
		if !t.matters(s.bounds[k], top, lineCut, b, g, star) {
			continue
		}
		if kept, ok = t.gather(s, kept, g.lo, g.hi, top, b, star); !ok {
			return 0, 0, false
		}
	}
	if kept == 0 { // exponents beyond 1e15, too: y* alone
		s.a[0], kept = 0, 1
		for axis := range d {
			s.v[axis*s.stride] = 0
		}
	}
	return pad(s.a, s.v, s.stride, kept, d, lanes), top, true
}

// gatherPlain appends those of the sources lo ≤ j < hi that matter in b to the kept ones in
// scratch. It is false if an exponent could leave the range of exp2.
func (t task) gatherPlain(s *scratch, kept, lo, hi int, top float64, b *box, star []float64) (int, bool) {
	n, x := t.From.n, t.From.x
	curvature, slope := math.Log2E/(2*t.eps), math.Log2E/t.eps
	for j := lo; j < hi; j++ {
		var square, swing float64
		for axis, c := range b.centre {
			p := x[axis*n+j]
			z := p - c
			square += z * z
			swing += b.radius[axis] * math.Abs(p-star[axis])
		}
		e := min(t.exponent[j]-curvature*square-top, nearlyDominant) // more is rounding of exponents beyond 1e15
		swing *= slope
		if e+swing < -lineCut {
			continue
		}
		if swing-e > exponentRange {
			return kept, false
		}
		s.a[kept] = e
		for axis, p := range star {
			s.v[axis*s.stride+kept] = (x[axis*n+j] - p) * slope
		}
		kept++
	}
	return kept, true
}
