package metrics

import "math"

// In more dimensions the sum of softmin_line.go is, with u = x − c,
//
//	Σ_j exp(h_j − |x−y_j|²/2ε) = exp(A + u·(y*−c)/ε − |u|²/2ε) Σ_j exp(a_j + u·(y_j−y*)/ε)
//
// over the sources near enough to matter in the box around c. All large numbers
// are in A and in the tilt, once per target; the exponents of sources that
// matter are small, so they are exact where it counts. Boxes are nodes of the
// targets' k-d tree: its leaves, where the sum is taken at every target, or in
// the plane, while √ε is wide, larger ones that a grid resolves (grid).

// appendNodes cuts the targets below a node into boxes.
func appendNodes(tasks []task, whole task, node int) []task {
	b := &whole.to.tree[node]
	if b.left == 0 || gridPays(b, whole.eps) {
		whole.node = node
		return append(tasks, whole)
	}
	tasks = appendNodes(tasks, whole, b.left)
	return appendNodes(tasks, whole, b.right)
}

// runNode computes the targets of one node.
func (t task) runNode(s *scratch) {
	b := &t.to.tree[t.node]
	switch {
	case b.left == 0:
		t.runDirect(s, b.lo, b.hi)
	case !gridPays(b, t.eps) || !t.runGrid(s, b):
		t.node = b.left
		t.runNode(s)
		t.node = b.right
		t.runNode(s)
	}
}

// runDirect sums at each of the targets lo ≤ i < hi.
func (t task) runDirect(s *scratch, lo, hi int) {
	var star, u [MaxDimension]float64
	d := t.to.d
	b := t.to.bound(lo, hi)
	kept, top, ok := t.prepareSpace(s, &b, star[:d])
	if !ok { // only if the targets differ
		middle := (lo + hi) / 2
		t.runDirect(s, lo, middle)
		t.runDirect(s, middle, hi)
		return
	}
	for i := lo; i < hi; i++ {
		for k := range d {
			u[k] = t.to.x[k*t.to.n+i] - b.centre[k]
		}
		sum := expSum(s.a[:kept], s.v, s.stride, u[:d])
		t.dst[i] = t.untilt(sum, top, u[:d], star[:d], b.centre)
	}
}

// untilt is the softmin at c + u, given the sum.
func (t task) untilt(sum, top float64, u, star, centre []float64) float64 {
	f := t.eps * (math.Log(float64(t.from.n)/sum) - math.Ln2*top)
	for k, v := range u {
		f += v * (0.5*v - (star[k] - centre[k]))
	}
	return f
}

// prepareSpace is prepare for vectors, for the targets in b; it writes y* to
// star.
func (t task) prepareSpace(s *scratch, b *box, star []float64) (kept int, top float64, ok bool) {
	n, d, x := t.from.n, len(star), t.from.x
	s.reserve(n, d)
	s.bounds = resized(s.bounds, len(t.from.groups))
	curvature, slope := math.Log2E/(2*t.eps), math.Log2E/t.eps

	likely := 0
	for k := range t.from.groups {
		g := &t.from.groups[k]
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
	best := -1
	top = math.Inf(-1)
	search := func(g *box) {
		for j := g.lo; j < g.hi; j++ {
			var square float64
			for axis, c := range b.centre {
				z := x[axis*n+j] - c
				square += z * z
			}
			if e := t.exponent[j] - curvature*square; e > top {
				best, top = j, e
			}
		}
	}
	search(&t.from.groups[likely]) // first: its maximum rules most others out
	for k := range t.from.groups {
		if k != likely && s.bounds[k] >= top {
			search(&t.from.groups[k])
		}
	}
	for k := range star {
		star[k] = x[k*n+best]
	}

	for k := range t.from.groups {
		g := &t.from.groups[k]
		var swing float64
		for axis, r := range b.radius {
			swing += r * (math.Abs(g.centre[axis]-star[axis]) + g.radius[axis])
		}
		if s.bounds[k]-top+slope*swing < -lineCut {
			continue
		}
		for j := g.lo; j < g.hi; j++ {
			var square, swing float64
			for axis, c := range b.centre {
				p := x[axis*n+j]
				z := p - c
				square += z * z
				swing += b.radius[axis] * math.Abs(p-star[axis])
			}
			e := t.exponent[j] - curvature*square - top
			swing *= slope
			if e+swing < -lineCut {
				continue
			}
			if swing-e > exponentRange {
				return 0, 0, false
			}
			s.a[kept] = e
			for axis, p := range star {
				s.v[axis*s.stride+kept] = (x[axis*n+j] - p) * slope
			}
			kept++
		}
	}
	return pad(s.a, s.v, s.stride, kept, d), top, true
}
