package softmin

import "math"

// At small temperatures few sources matter to a target, but many to a box of
// targets. So boxes are halved repeatedly, and each half keeps, of the sources of
// its box, those that matter to it. The cost falls with the number of sources left.
// The last boxes hold one tile, or targets that are close together.
const (
	narrowNear = 1.5  // boxes whose half diagonal is less than this many σ = √ε are not halved
	narrowCost = 12.0 // the time of narrowing for two halves, in sums at one target
)

// sources are points with their exponents: those of a measure, or those of them
// that matter in a box.
type sources struct {
	x, exponent []float64 // coordinate k of source j is x[k*stride+j]
	stride, n   int
}

// runTiles computes the targets of a box in tiles, from the sources of the level
// above, which were chosen out of above ones; on the first level, from all. It
// halves a box whose halves will need few of its sources, and one that does not fit
// into a frame.
func (t task) runTiles(s *scratch, b *box, level, above int) {
	if len(s.levels) == level {
		s.levels = append(s.levels, sources{})
	}
	if level > 0 && t.tooLarge(b) && 10*s.levels[level-1].n > 9*above {
		for _, half := range t.To.halves(b) { // hardly any source can go yet: try again in quarters
			t.runTiles(s, &half, level, 2*above)
		}
		return
	}
	var star [MaxDimension]float64
	top := t.narrow(s, level, b, star[:t.To.d])
	kept := s.levels[level].n
	if kept > 0 && !t.halvingPays(b, kept, above) && t.sumTiles(s, &s.levels[level], b, top, star[:t.To.d]) {
		return
	}
	if kept == 0 || b.hi-b.lo == 1 { // exponents are beyond 1e15
		t.single = false
		t.runDirect(s, b)
		return
	}
	for _, half := range t.To.halves(b) {
		t.runTiles(s, &half, level+1, kept)
	}
}

// tooLarge reports whether the targets of a box are too far apart for one frame.
func (t task) tooLarge(b *box) bool { return b.hi-b.lo > 1 && !t.within(b, tileReach) }

// halvingPays reports whether narrowing the sources of a box for its halves takes less
// time than it saves, on the assumption that it leaves out as large a part as it did
// here.
func (t task) halvingPays(b *box, kept, above int) bool {
	if t.tooLarge(b) {
		return true
	}
	targets := b.hi - b.lo
	if targets <= tile || t.within(b, narrowNear) {
		return false
	}
	return float64(targets)*(1-float64(kept)/float64(above)) > narrowCost
}

// all are the sources of a task.
func (t task) all() sources { return sources{t.From.x, t.exponent, t.From.n, t.From.n} }

// narrow sets s.levels[level] to the sources that matter in a box, out of those of
// the level above; on the first level, out of all. It writes the dominant one, y*,
// to star and returns A.
func (t task) narrow(s *scratch, level int, b *box, star []float64) (top float64) {
	cut := tileCut + math.Log2(float64(t.From.n))
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
	groups := t.From.groups
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

// fill pads with sources of weight 0 at the place of the first one.
func (s *sources) fill(dimensions int) {
	for ; s.n%lanes != 0; s.n++ {
		s.exponent[s.n] = math.Inf(-1)
		for k := range dimensions {
			s.x[k*s.stride+s.n] = s.x[k*s.stride]
		}
	}
}

// keepPlain appends those of the sources lo ≤ j < hi that matter. At the target
// c + u, the exponent of source j exceeds that of y* by e_j − A + u·(y_j−y*)/ε, most
// in a corner of the box. If that is below −cut even there, the source adds less than
// 2^−cut to any sum.
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
