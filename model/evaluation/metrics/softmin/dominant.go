package softmin

import "math"

// nearlyDominant is the number of powers of two by which a source may exceed y*.
const nearlyDominant = 16

// dominant finds a source whose exponent at the centre c of the box is the largest,
// but for nearlyDominant. It writes the source, y*, to star, returns its exponent,
// A, and sets s.bounds to bounds of the groups' exponents.
func (t task) dominant(s *scratch, b *box, star []float64) (top float64) {
	n, x := t.From.n, t.From.x
	curvature := math.Log2E / (2 * t.eps)
	s.bounds = resized(s.bounds, len(t.From.groups))
	likely := 0
	for k := range t.From.groups {
		g := &t.From.groups[k]
		var square float64
		for axis, c := range b.centre {
			z := max(0, math.Abs(c-g.centre[axis])-g.radius[axis])
			square += z * z
		}
		s.bounds[k] = t.highest[k] - curvature*square
		if s.bounds[k] > s.bounds[likely] {
			likely = k
		}
	}
	all := t.all()
	// The likely group comes first: its maximum rules most others out.
	best, top := t.searchGroup(&all, likely, b.centre, -1, math.Inf(-1))
	for k := range t.From.groups {
		if k != likely && s.bounds[k] > top+nearlyDominant {
			best, top = t.searchGroup(&all, k, b.centre, best, top)
		}
	}
	for k := range star {
		star[k] = x[k*n+best]
	}
	return top
}

func (t task) searchGroup(all *sources, k int, centre []float64, best int, top float64) (int, float64) {
	g := &t.From.groups[k]
	return t.search(all, g.lo, g.hi, centre, best, top)
}

// searchPlain returns the source lo ≤ j < hi whose exponent at the centre is the
// largest, and that exponent; if none exceeds top, it returns best and top.
func (t task) searchPlain(from *sources, lo, hi int, centre []float64, best int, top float64) (int, float64) {
	curvature := math.Log2E / (2 * t.eps)
	for j := lo; j < hi; j++ {
		var square float64
		for axis, c := range centre {
			z := from.x[axis*from.stride+j] - c
			square += z * z
		}
		if e := from.exponent[j] - curvature*square; e > top {
			best, top = j, e
		}
	}
	return best, top
}
