package softmin

import (
	"math"
	"unsafe"
)

// Two softmins that are each other's, or one that is its own, share their
// exponentials. With the potentials f of rows and g of columns,
//
//	π_ij = exp((f_i + g_j − ½|x_i−y_j|²)/ε),
//
// row sums of π move f and column sums move g, so one exponential serves both. In a
// self term π is symmetric, and half of it suffices. Where the potentials fit each
// other, π is about a transport plan; that is so in self terms at every ε, elsewhere
// while ε is large. Where a sum leaves the range from 1/fusedLargest to fusedLargest,
// the sums are taken in tiles instead, each in its own frame.
//
// Rows are taken by boxes, in the frames of tiles (tile.go), with
// r_i = (f_i − ½|u_i|² + u_i·(y*−c))/ε + A added to the exponents. Boxes are divided
// into strips. One goroutine adds up the column sums of a strip from start to end;
// finish adds up the strips.
const (
	fusedStrips  = 16     // most strips: each holds one number per column
	fusedLargest = 0x1p80 // keeps exponents that matter within float32, 2^±126
	fusedPoints  = 1024   // with fewer, in either cloud, errors of float32 do not average out
	fusedReach   = 8.0    // largest half diagonal of a box, in units of σ
	fusedGrid    = 4.0    // a grid is better if it takes so many times less than tiles
	fusedFlush   = 16     // tiles after which column sums in float32 are added to those in float64
	fusedFrames  = 4      // with more frames per box of rows, fusing costs more than it saves
)

// fused is a pair of transforms, or one of a measure to itself, and their sums.
type fused struct {
	rows, columns task        // the potential of one is what the other moves
	boxes         []*box      // of rows
	strips        [][]float64 // column sums of each strip
	sum           []float64   // row sums
	refused       bool        // a sum left the range: smaller ε are not tried
}

// self reports whether rows and columns are the same measure.
func (f *fused) self() bool { return f.rows.To == f.rows.From }

// strip is a part of a pair's boxes: every len(strips)-th, from number on.
type strip struct {
	*fused
	number int
}

// fuse finds pairs among transforms and returns them with their strips. Transforms
// that are not fused become tasks.
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

// pair returns the pair of these measures, from an earlier run if it had one.
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

// prepare collects the boxes of rows. It is false if fusing is impossible or does
// not pay.
func (f *fused) prepare(rows, columns task) bool {
	if !f.fusable(rows) || !columns.tiled(0) {
		return false
	}
	f.rows, f.columns = rows, columns
	f.boxes = f.boxes[:0]
	frames := 0
	if !f.collect(0, &frames) {
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

// collect appends the boxes of rows below a node. It is false if a grid is far faster
// on one of them.
func (f *fused) collect(node int, frames *int) bool {
	b := &f.rows.To.tree[node]
	switch {
	case f.rows.gridPaysBy(fusedGrid, b):
		return false
	case b.left == 0 || f.rows.compact(b):
		f.boxes = append(f.boxes, b)
		*frames += f.rows.frames(b)
		return true
	}
	return f.collect(b.left, frames) && f.collect(b.right, frames)
}

// tiled reports whether a grid is far faster on no box below a node.
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

// appendTasks appends the tasks of a pair that was refused.
func (f *fused) appendTasks(tasks []task) []task {
	tasks = appendTasks(tasks, f.rows)
	if !f.self() {
		tasks = appendTasks(tasks, f.columns)
	}
	return tasks
}

// frames bounds the number of frames that the targets of a box need.
func (t task) frames(b *box) int {
	switch {
	case t.within(b, fusedReach) || b.hi-b.lo == 1:
		return 1
	case b.left == 0:
		return b.hi - b.lo
	}
	return t.frames(&t.To.tree[b.left]) + t.frames(&t.To.tree[b.right])
}

// run adds up the boxes of a strip.
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

// expPairsPlain is expSumsPlain with u_0t added to the exponents of target t, whose
// coordinates are u_1t, u_2t, … It also adds the terms of source j to columns[j].
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

// box adds up one box of rows against the columns from first on. Columns before
// middle, in a self term, are the rows of the box itself: they add to row sums only.
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

// frame writes the columns lo ≤ j < hi in a frame to w from place at on, padded, and
// returns their number with the padding.
func (f *fused) frame(w *tiles, at, lo, hi int, top float64, centre, star []float64) int {
	t := f.rows
	from := sources{t.From.x[lo:], t.exponent[lo:], t.From.n, hi - lo}
	part := tiles{w.a[at:], w.v[at:], w.stride}
	t.frame(&part, &from, top, centre, star)
	return pad(part.a, part.v, part.stride, hi-lo, len(star), lanes32)
}

// tile returns r_i and u_i of count rows from lo on; the rest of the eight add
// nothing.
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

// finish sets both softmins from the sums, or sets refused.
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

// move sets dst to the softmin, by which a potential moves as sums say: it is
// potential − ε log(sum/n).
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
