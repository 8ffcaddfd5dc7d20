package metrics

import "math"

// sources are points with their exponents: those of a measure, or those of them
// that matter in a box.
type sources struct {
	x, exponent []float64 // coordinate k of source j is x[k*stride+j]
	stride, n   int
}

// all are the sources of a task.
func (t task) all() sources { return sources{t.from.x, t.exponent, t.from.n, t.from.n} }

// narrow leaves on a level the sources that matter in a box, out of those of the
// level above or, on the first one, of all. It writes the dominant one, y*, to
// star and returns A.
func (t task) narrow(s *scratch, level int, b *box, star []float64) (top float64) {
	cut := tileCut + math.Log2(float64(t.from.n))
	to := &s.levels[level]
	if level > 0 {
		from := &s.levels[level-1]
		best, top := t.search(from, 0, from.n, b.centre, -1, math.Inf(-1))
		for k := range star {
			star[k] = from.x[k*from.stride+best]
		}
		to.clear(from.n, len(star))
		t.keep(to, from, 0, from.n, top, cut, b, star)
		to.fill(len(star))
		return top
	}
	from := t.all()
	top = t.dominant(s, b, star)
	to.clear(from.n, len(star))
	groups := t.from.groups
	for k := 0; k < len(groups); k++ {
		first := k
		for k < len(groups) && t.matters(s.bounds[k], top, cut, b, &groups[k], star) {
			k++
		}
		if k > first {
			t.keep(to, &from, groups[first].lo, groups[k-1].hi, top, cut, b, star)
		}
	}
	to.fill(len(star))
	return top
}

// clear makes room for n sources and their padding.
func (s *sources) clear(n, dimensions int) {
	s.n, s.stride = 0, n+2*lanes
	s.exponent, s.x = resized(s.exponent, s.stride), resized(s.x, s.stride*dimensions)
}

// fill pads with sources that weigh nothing, where the first one is.
func (s *sources) fill(dimensions int) {
	for ; s.n%lanes != 0; s.n++ {
		s.exponent[s.n] = math.Inf(-1)
		for k := range dimensions {
			s.x[k*s.stride+s.n] = s.x[k*s.stride]
		}
	}
}

// keepPlain appends those of the sources lo ≤ j < hi that matter. The exponent
// of one differs from that of y* by e_j − A + u·(y_j−y*)/ε at the target c + u,
// most in a corner of the box; if it is below −cut even there, the source adds
// less than 2^-cut of any sum.
func (t task) keepPlain(to, from *sources, lo, hi int, top, cut float64, b *box, star []float64) {
	curvature, slope := math.Log2E/(2*t.eps), math.Log2E/t.eps
	for j := lo; j < hi; j++ {
		var square, swing float64
		for k, p := range star {
			y := from.x[k*from.stride+j]
			z := y - b.centre[k]
			square += z * z
			swing += b.radius[k] * math.Abs(y-p)
		}
		if !(from.exponent[j]-top-curvature*square+slope*swing >= -cut) {
			continue
		}
		to.exponent[to.n] = from.exponent[j]
		for k := range star {
			to.x[k*to.stride+to.n] = from.x[k*from.stride+j]
		}
		to.n++
	}
}
