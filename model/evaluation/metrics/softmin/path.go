package softmin

// Here the path of every sum is chosen: the first of these forms whose condition
// holds.
//
//	flat.go   ε > 4 diameter²: log1p of a mean of expm1
//	line.go   one dimension: at Chebyshev nodes of intervals a few √ε wide, interpolated
//	fused.go  float32 allowed, AVX-512, 1,024 points and more, two softmins that are each
//	          other's or one that is its own: one exponential for the sums of rows and of
//	          columns, unless a grid is four times faster than tiles
//	grid.go   two or three dimensions, boxes of many targets a few √ε wide: at Chebyshev
//	          nodes of a tensor grid, interpolated
//	tile.go   float32 allowed: eight targets at once, from the sources that matter to them
//	          (narrow.go)
//	space.go  otherwise: in float64 at each target
//
// A form whose condition turns out to fail, as a grid that does not resolve the sum or a
// sum beyond float32, hands over to the next: that costs time, not accuracy.

// Flat reports whether sums at that ε are flat.
func (s *Evaluator) Flat(eps float64) bool {
	return s.Diameter > 0 && eps > flatRatio*s.Diameter*s.Diameter
}

// fusable reports whether a pair can be fused; prepare decides whether that pays.
func (f *fused) fusable(rows task) bool {
	return hasPairKernel && rows.single && !rows.flat && !f.refused &&
		rows.To.d > 1 && min(rows.To.n, rows.From.n) >= fusedPoints
}

// appendTasks cuts a transform into boxes.
func appendTasks(tasks []task, whole task) []task {
	if whole.To.d == 1 {
		return appendIntervals(tasks, whole)
	}
	return appendNodes(tasks, whole, 0)
}

// appendNodes cuts the targets below a node of their tree into boxes.
func appendNodes(tasks []task, whole task, node int) []task {
	b := &whole.To.tree[node]
	if b.left == 0 || whole.gridPays(b) || whole.compact(b) {
		whole.node = node
		return append(tasks, whole)
	}
	tasks = appendNodes(tasks, whole, b.left)
	return appendNodes(tasks, whole, b.right)
}

// compact reports whether a box is small enough to begin with tiles.
func (t task) compact(b *box) bool { return t.single && b.hi-b.lo <= tileTargets }

// run computes the targets of a task.
func (t task) run(s *scratch) {
	switch {
	case t.flat && t.To.d == 1:
		t.runFlat(t.lo, t.hi)
	case t.flat:
		b := &t.To.tree[t.node]
		t.runFlat(b.lo, b.hi)
	case t.To.d == 1:
		t.runInterval(s)
	default:
		t.runNode(s)
	}
}

// runNode computes the targets of one node of the tree.
func (t task) runNode(s *scratch) {
	b := &t.To.tree[t.node]
	switch {
	case t.gridPays(b) && t.runGrid(s, b):
	case b.left == 0 || t.compact(b):
		t.runDirect(s, b)
	default:
		t.node = b.left
		t.runNode(s)
		t.node = b.right
		t.runNode(s)
	}
}

// runDirect sums at each target of a box: in tiles, or in float64. If an
// exponent could leave the range of float64 it halves the box; those of one
// target alone stay within it.
func (t task) runDirect(s *scratch, b *box) {
	if t.single {
		t.runTiles(s, b, 0, t.From.n+t.From.n/9) // as if a tenth had been left out: try once
		return
	}
	if t.runEach(s, b) {
		return
	}
	for _, half := range t.To.halves(b) {
		t.runDirect(s, &half)
	}
}
