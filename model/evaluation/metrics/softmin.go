package metrics

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// transform is one softmin: dst_i = −ε log (1/M) Σ_j exp((potential_j −
// ½|x_i − y_j|²)/ε) for the points x of to and y of from.
type transform struct {
	dst       []float64
	to, from  *measure
	potential []float64
}

// softmin runs transforms on all processors and keeps their scratch memory
// between runs. Each transform is cut into boxes of neighbouring targets; a box
// is computed by one goroutine from start to end, so the outcome does not
// depend on how many there are.
type softmin struct {
	large     float64 // sums are flat above this ε, unless it is 0
	single    bool    // in more than one dimension, sums may be float32: see tile
	tasks     []task
	exponents []exponents // one per transform
	fused     []*fused    // the pairs that were seen
	scratch   []*scratch  // one per goroutine
}

// task is the part of a transform for the targets lo ≤ i < hi.
type task struct {
	transform
	exponents
	eps    float64
	single bool
	flat   bool // ε is far above the squared diameter
	lo, hi int
	node   int // in more than one dimension: of the targets' tree
}

// scratch holds a goroutine's arrays, one element per source that matters.
type scratch struct {
	a       []float64 // those of the sources kept, less their maximum
	v       []float64 // slopes of the exponents: v[k*stride+j] along dimension k
	stride  int
	bounds  []float64 // of the groups of sources
	levels  []sources // those that matter in a box, in a half of it, and so on
	tiles   tiles
	columns []float32 // sums over rows: see fused
	line    line
	grid    grid
}

func (s *softmin) run(eps float64, transforms ...transform) {
	whole := make([]task, len(transforms))
	for k, t := range transforms {
		if k == len(s.exponents) {
			s.exponents = append(s.exponents, exponents{})
		}
		s.exponents[k].set(t.potential, math.Log2E/eps, t.from.groups)
		whole[k] = task{transform: t, exponents: s.exponents[k], eps: eps, single: s.single, flat: s.flat(eps)}
	}
	s.tasks = s.tasks[:0]
	strips, pairs := s.fuse(whole)
	s.each(len(strips)+len(s.tasks), func(i int, own *scratch) {
		if i < len(strips) {
			strips[i].run(own)
		} else {
			s.tasks[i-len(strips)].run(own)
		}
	})
	s.each(len(pairs), func(i int, _ *scratch) { pairs[i].finish() })
	s.tasks = s.tasks[:0]
	for _, f := range pairs {
		if f.refused {
			s.tasks = f.appendTasks(s.tasks)
		}
	}
	s.each(len(s.tasks), func(i int, own *scratch) { s.tasks[i].run(own) })
}

// each does n pieces of work on all processors.
func (s *softmin) each(n int, do func(i int, own *scratch)) {
	workers := min(runtime.GOMAXPROCS(0), n)
	for len(s.scratch) < workers {
		s.scratch = append(s.scratch, &scratch{})
	}
	if workers <= 1 {
		for i := range n {
			do(i, s.scratch[0])
		}
		return
	}
	var next atomic.Int64
	var group sync.WaitGroup
	for _, own := range s.scratch[:workers] {
		group.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				do(i, own)
			}
		})
	}
	group.Wait()
}

// flat says whether sums at that ε are flat.
func (s *softmin) flat(eps float64) bool { return s.large > 0 && eps > s.large }

// appendTasks cuts one transform into boxes.
func appendTasks(tasks []task, whole task) []task {
	if whole.to.d == 1 {
		return appendIntervals(tasks, whole)
	}
	return appendNodes(tasks, whole, 0)
}

func (t task) run(s *scratch) {
	switch {
	case t.flat && t.to.d == 1:
		t.runFlat(t.lo, t.hi)
	case t.flat:
		b := &t.to.tree[t.node]
		t.runFlat(b.lo, b.hi)
	case t.to.d == 1:
		t.runInterval(s)
	default:
		t.runNode(s)
	}
}

// reserve makes room for n sources and their padding.
func (s *scratch) reserve(n, dimensions int) {
	s.stride = n + lanes
	s.a, s.v = resized(s.a, s.stride), resized(s.v, s.stride*dimensions)
}

// exponents are the sources' potentials over ε, in units of log 2, and their
// maxima over groups of sources: with the range of a group's coordinates, a
// bound on all its terms.
type exponents struct {
	exponent, highest []float64
}

func (e *exponents) set(potential []float64, factor float64, groups []box) {
	e.exponent = resized(e.exponent, len(potential))
	e.highest = resized(e.highest, len(groups))
	for k, g := range groups {
		highest := math.Inf(-1)
		for i := g.lo; i < g.hi; i++ {
			v := potential[i] * factor
			e.exponent[i] = v
			if v > highest {
				highest = v
			}
		}
		e.highest[k] = highest
	}
}

// resized returns a slice of length n in x's memory if that is enough; its
// values are arbitrary.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
