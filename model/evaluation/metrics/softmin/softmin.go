// Package softmin computes the sums of Sinkhorn's iterations. For clouds of N
// targets x_i and M sources y_j, a potential g on the sources and a temperature
// ε, the softmin is
//
//	dst_i = −ε log (1/M) Σ_j exp((g_j − ½|x_i−y_j|²)/ε).
//
// The definition takes N·M exponentials. Each path through this package takes
// fewer, or cheaper ones, where a condition holds that is checked; path.go
// chooses among them. Kernels have a plain form (*Plain) and one on vectors
// (*_amd64.go, *_amd64.s); tests compare the two. docs/decisions/sinkhorn-sums.md has
// the reason for each path.
//
// Results do not depend on GOMAXPROCS.
package softmin

import (
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// MaxDimension is the largest dimension of points.
const MaxDimension = 64

// Transform is one softmin, from the sources From with their Potential to Dst,
// one value per target of To. Potential and Dst are in the measures' order.
type Transform struct {
	Dst       []float64
	To, From  *Measure
	Potential []float64
}

// Evaluator runs transforms on all processors and keeps its memory between
// runs. Each transform is cut into boxes of neighbouring targets. One goroutine
// computes a box from start to end, so results do not depend on how many there
// are. An Evaluator is for one goroutine at a time.
type Evaluator struct {
	Diameter float64 // bounds the distance of any two points; 0: unknown, and no sum is flat
	Float32  bool    // allows sums in float32 in more than one dimension: see tile.go

	tasks     []task
	exponents []exponents // one per transform
	fused     []*fused    // pairs of transforms that earlier runs had
	scratch   []*scratch  // one per goroutine
}

// task is the part of a transform for one box of targets.
type task struct {
	Transform
	exponents
	eps    float64
	single bool // sums may be float32
	flat   bool // ε is far above the squared diameter
	lo, hi int  // the targets, in one dimension
	node   int  // of the targets' tree, in more than one
}

// scratch holds the arrays of one goroutine: an element per source that matters.
type scratch struct {
	a       []float64 // exponents of the sources kept, less their maximum
	v       []float64 // slopes of the exponents: v[k*stride+j] along dimension k
	stride  int
	bounds  []float64 // of the exponents of each group of sources
	levels  []sources // that matter in a box, in a half of it, and so on
	tiles   tiles
	columns []float32 // column sums: see fused.go
	line    line
	grid    grid
}

// Run computes the transforms at the temperature eps.
func (s *Evaluator) Run(eps float64, transforms ...Transform) {
	whole := make([]task, len(transforms))
	for k, t := range transforms {
		if k == len(s.exponents) {
			s.exponents = append(s.exponents, exponents{})
		}
		s.exponents[k].set(t.Potential, math.Log2E/eps, t.From.groups)
		whole[k] = task{Transform: t, exponents: s.exponents[k], eps: eps, single: s.Float32, flat: s.Flat(eps)}
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
func (s *Evaluator) each(n int, do func(i int, own *scratch)) {
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

// reserve makes room for n sources and their padding.
func (s *scratch) reserve(n, dimensions int) {
	s.stride = n + lanes
	s.a, s.v = resized(s.a, s.stride), resized(s.v, s.stride*dimensions)
}

// exponents are the sources' potentials over ε, in units of log 2, and their
// maxima over groups of sources. With the range of a group's coordinates, a
// maximum bounds all terms of the group.
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

// resized returns a slice of length n, in x's memory if that is enough. Its
// values are arbitrary.
func resized[T any](x []T, n int) []T {
	if cap(x) < n {
		return make([]T, n)
	}
	return x[:n]
}
