package softmin

import (
	"math"
	"unsafe"
)

// Two softmins that are each other's, or one that is its own, have their sums
// from the same numbers: with the potentials f and g of rows and columns as they
// are,
//
//	π_ij = exp((f_i + g_j − ½|x_i−y_j|²)/ε)
//
// has row sums that move f and column sums that move g, one exponential for both;
// in a self term π is symmetric, and half of it does. All π are of the size of a
// plan where the potentials fit each other, as they do in self terms always and
// elsewhere while ε is wide; where a sum leaves fusedLargest and its inverse the
// sums are taken in tiles, each in its own frame.
//
// Rows are taken by boxes in frames as tiles are (tile.go), to which r_i =
// (f_i − ½|u_i|² + u_i·(y*−c))/ε + A is added. Column sums are added up by strips
// of boxes, each by one goroutine from start to end, and the strips at last.
const (
	fusedStrips  = 16     // at most: column sums take memory for as many numbers per column
	fusedLargest = 0x1p80 // exponents that matter stay within that: float32 holds 2^±126
	fusedPoints  = 1024   // fewer, in either cloud, do not average errors of float32
	fusedReach   = 8.0    // most of the half diagonal of its boxes, in units of σ
	fusedGrid    = 4.0    // grids of boxes where they take that much less time than tiles are better
	fusedFlush   = 16     // tiles after which column sums leave float32
	fusedFrames  = 4      // more frames than that per box of rows cost more than is saved
)

// fused is a pair of transforms, or one of a measure to itself, and their sums.
type fused struct {
	rows, columns task   // the potential of one is what the other moves
	boxes         []*box // of rows
	strips        [][]float64
	sum           []float64 // of rows
	refused       bool      // a sum left the range: this ε is too small, and so is the next
}

// self says whether rows and columns are the same.
func (f *fused) self() bool { return f.rows.To == f.rows.From }

// strip is a part of a pair's work.
type strip struct {
	*fused
	number int
}

// fuse finds pairs among transforms and returns them and their parts; those of
// other transforms become tasks.
func (s *Evaluator) fuse(whole []task) (strips []strip, pairs []*fused) {
	taken := make([]bool, len(whole))
	for k, rows := range whole {
		if taken[k] {
			continue
		}
		first := len(s.tasks)
		s.tasks = appendTasks(s.tasks, rows)
		for other := k; other < len(whole); other++ {
			columns := whole[other]
			if taken[other] || columns.From != rows.To || columns.To != rows.From {
				continue
			}
			if f := s.pair(rows, columns); f.prepare(rows, columns) {
				s.tasks = s.tasks[:first]
				taken[other] = true
				pairs = append(pairs, f)
				for number := range f.strips {
					strips = append(strips, strip{f, number})
				}
			}
			break
		}
	}
	return strips, pairs
}

// pair is what is kept of a pair.
func (s *Evaluator) pair(rows, columns task) *fused {
	for _, f := range s.fused {
		if f.rows.To == rows.To && f.columns.To == columns.To {
			return f
		}
	}
	f := &fused{rows: rows, columns: columns}
	s.fused = append(s.fused, f)
	return f
}

// prepare takes the boxes of rows; it is false if fusing does not pay.
func (f *fused) prepare(rows, columns task) bool {
	if !f.fusable(rows) || !columns.tiled(0) {
		return false
	}
	f.rows, f.columns = rows, columns
	f.boxes = f.boxes[:0]
	frames := 0
	if !f.take(0, &frames) {
		return false
	}
	if frames > fusedFrames*len(f.boxes) {
		return false
	}
	f.sum = resized(f.sum, rows.To.n)
	for len(f.strips) < min(len(f.boxes), fusedStrips) {
		f.strips = append(f.strips, make([]float64, rows.From.n))
	}
	return true
}

// take appends the boxes of rows below a node; it is false if a grid serves one
// far better.
func (f *fused) take(node int, frames *int) bool {
	b := &f.rows.To.tree[node]
	switch {
	case f.rows.gridPaysBy(fusedGrid, b):
		return false
	case b.left == 0 || f.rows.compact(b):
		f.boxes = append(f.boxes, b)
		*frames += f.rows.frames(b)
		return true
	}
	return f.take(b.left, frames) && f.take(b.right, frames)
}

// tiled says whether no grid serves a box below a node far better.
func (t task) tiled(node int) bool {
	b := &t.To.tree[node]
	switch {
	case t.gridPaysBy(fusedGrid, b):
		return false
	case b.left == 0 || t.compact(b):
		return true
	}
	return t.tiled(b.left) && t.tiled(b.right)
}

// appendTasks is for a pair that was refused.
func (f *fused) appendTasks(tasks []task) []task {
	tasks = appendTasks(tasks, f.rows)
	if !f.self() {
		tasks = appendTasks(tasks, f.columns)
	}
	return tasks
}

// frames is how many boxes below a node are within one frame each.
func (t task) frames(b *box) int {
	switch {
	case t.within(b, fusedReach) || b.hi-b.lo == 1:
		return 1
	case b.left == 0:
		return b.hi - b.lo
	}
	return t.frames(&t.To.tree[b.left]) + t.frames(&t.To.tree[b.right])
}

// run adds up every fusedStrips-th box of rows.
func (f strip) run(s *scratch) {
	sums := f.strips[f.number]
	clear(sums)
	for i := f.number; i < len(f.boxes); i += len(f.strips) {
		b := f.boxes[i]
		if f.self() {
			f.box(s, b, sums, b.lo, b.hi)
		} else {
			f.box(s, b, sums, 0, 0)
		}
	}
}

// expPairsPlain is expSumsPlain with u_0t added to the exponents of target t,
// whose coordinates follow, that also adds to columns[j] the terms of source j.
func expPairsPlain(sums *[tile][lanes32]float64, columns, a, v, u *float32, stride, n, d int) {
	cs, as, vs, us := unsafe.Slice(columns, n), unsafe.Slice(a, n), unsafe.Slice(v, (d-1)*stride+n), unsafe.Slice(u, (d+1)*tile)
	for t := range sums {
		for j, e := range as {
			e += us[t]
			for k := range d {
				e += us[(k+1)*tile+t] * vs[k*stride+j]
			}
			term := exp2(min(max(float64(e), -exponentRange), 200))
			sums[t][j%lanes32] += term
			cs[j] += float32(term)
		}
	}
}

// box adds up one box of rows, against columns from first on. Those before
// middle, if any, are rows of the same box: they count as rows alone.
func (f *fused) box(s *scratch, b *box, strip []float64, first, middle int) {
	t, w := f.rows, &s.tiles
	if !t.within(b, fusedReach) && b.hi-b.lo > 1 {
		for _, half := range t.To.halves(b) {
			f.box(s, &half, strip, first, middle)
		}
		return
	}
	d, n := t.To.d, t.From.n
	var star [MaxDimension]float64
	top := t.dominant(s, b, star[:d])
	w.stride = n - first + 2*lanes32
	w.a, w.v = resized(w.a, w.stride), resized(w.v, w.stride*d)
	square := f.frame(w, 0, first, middle, top, b.centre, star[:d])
	padded := f.frame(w, square, middle, n, top, b.centre, star[:d])
	s.columns = resized(s.columns, w.stride)
	clear(s.columns)
	for lo, tiles := b.lo, 1; lo < b.hi; lo, tiles = lo+tile, tiles+1 {
		count := min(tile, b.hi-lo)
		u := f.tile(lo, count, top, b.centre, star[:d])
		var sums [tile][lanes32]float64
		if square > 0 {
			expPairs(&sums, &s.columns[0], &w.a[0], &w.v[0], &u[0], w.stride, square, d)
		}
		if padded > 0 {
			expPairs(&sums, &s.columns[square], &w.a[square], &w.v[square], &u[0], w.stride, padded, d)
		}
		for i := range count {
			f.sum[lo+i] = addLanes(&sums[i])
		}
		if tiles%fusedFlush == 0 || lo+tile >= b.hi {
			for j, v := range s.columns[square:][:n-middle] {
				strip[middle+j] += float64(v)
			}
			clear(s.columns)
		}
	}
}

// frame sets the columns lo ≤ j < hi in a frame from place at on, padded, and
// returns their number.
func (f *fused) frame(w *tiles, at, lo, hi int, top float64, centre, star []float64) int {
	t := f.rows
	from := sources{t.From.x[lo:], t.exponent[lo:], t.From.n, hi - lo}
	part := tiles{w.a[at:], w.v[at:], w.stride}
	t.frame(&part, &from, top, centre, star)
	return pad(part.a, part.v, part.stride, hi-lo, len(star), lanes32)
}

// tile is r_i and u_i of the rows from lo on; those that are missing add nothing.
func (f *fused) tile(lo, count int, top float64, centre, star []float64) (u [(MaxDimension + 1) * tile]float32) {
	t := f.rows
	slope, perSigma := math.Log2E/t.eps, 1/math.Sqrt(t.eps)
	for i := range count {
		r := f.columns.Potential[lo+i]
		for k, p := range star {
			z := t.To.x[k*t.To.n+lo+i] - centre[k]
			r += z * (p - centre[k] - 0.5*z)
			u[(k+1)*tile+i] = float32(z * perSigma)
		}
		u[i] = float32(r*slope + top)
	}
	for i := count; i < tile; i++ {
		u[i] = -exponentRange
	}
	return u
}

// finish sets both softmins from the sums, or refuses.
func (f *fused) finish() {
	columns := f.strips[0]
	for _, strip := range f.strips[1:] {
		for j, v := range strip {
			columns[j] += v
		}
	}
	if f.self() {
		for i, v := range columns {
			f.sum[i] += v
		}
	} else {
		f.move(f.columns.Dst, f.rows.Potential, columns, f.columns.From.n)
	}
	f.move(f.rows.Dst, f.columns.Potential, f.sum, f.rows.From.n)
}

// move sets what a potential moves to.
func (f *fused) move(dst, potential, sums []float64, n int) {
	logarithm := math.Log(float64(n))
	for i, sum := range sums {
		if !(sum > 1/fusedLargest && sum < fusedLargest) {
			f.refused = true
			return
		}
		dst[i] = potential[i] + f.rows.eps*(logarithm-math.Log(sum))
	}
}
