// Package assignment pairs two clouds of the same number of points so that the sum
// of squared distances is least. This is the coupling of minibatch optimal transport,
// and the exact Wasserstein distance of small samples.
//
//	match = argmin over permutations π of Σ_i |x_i − y_π(i)|²
//
// In one dimension the solver sorts both clouds. In more dimensions this is the
// linear assignment problem. It is solved exactly after Jonker and Volgenant
// (Computing 38, 1987), in O(N³) at worst: column reduction, augmenting row reduction
// and shortest augmenting paths, with SIMD kernels for the inner loops.
//
// Costs are float32, rounded once from float64; dual variables are float64. A rounded
// cost has a relative error of at most 6e-8, so the cost of the permutation found is
// within 1.2e-7 of the minimum, relatively. The duals are sums and differences of
// costs and have 29 bits more than a cost, which keeps their rounding below that.
// This also holds for clouds far apart and for outliers: see layout.
//
// The result depends on the points alone, not on the number of threads or the
// instruction set. Among several optimal permutations it is always the same one.
package assignment

import (
	"errors"
	"fmt"
	"math"
)

const (
	// MaxPoints is the largest number of points in a cloud: costs take 4 MiB.
	MaxPoints = 1024
	// MaxDimension is the largest dimension of points.
	MaxDimension = 1 << 12
)

var (
	// ErrShape means that sizes contradict one another or are out of range.
	ErrShape = errors.New("shape mismatch")
	// ErrNonFinite means that a cost is NaN or infinite.
	ErrNonFinite = errors.New("not finite")
)

// PairError names the first pair of points whose squared distance is not finite; it
// is an ErrNonFinite.
type PairError struct {
	X, Y int     // points of the first and the second cloud
	Cost float64 // NaN or +Inf
}

func (e *PairError) Error() string {
	return fmt.Sprintf("cost of pair (%d, %d) is %v: %v", e.X, e.Y, e.Cost, ErrNonFinite)
}

func (e *PairError) Unwrap() error { return ErrNonFinite }

// Solver solves one problem after the other and keeps its memory: Solve allocates
// only for a problem larger than all before it. The zero value is ready. A Solver is
// for one goroutine.
type Solver struct {
	set instructions

	n, d, stride int       // stride: n rounded up to full vectors
	x            []float64 // [n, d], moved and scaled
	y            []float64 // [d, stride], moved and scaled; +Inf beyond n
	costs        []float32 // [n, stride]; +Inf beyond n
	zero         []float64 // [stride]

	v        []float64 // [stride], dual variables of the columns; 0 beyond n
	rowOf    []int32   // [n], row matched to a column, or −1
	columnOf []int32   // [n], column matched to a row, or −1
	distance []float64 // [stride], of open columns; +Inf elsewhere
	from     []int64   // [stride], row before the column on its shortest path
	free     []int32   // rows without a column
	vacant   []int32   // columns without a row
	closed   []settled // columns whose distance is final

	keys []uint64 // [2n], for sorting
}

// Solve finds the best permutation of two clouds of len(match) points in d
// dimensions: it pairs point i of x with point match[i] of y. Coordinate k of point i
// is x[i*d+k]. It returns Σ|x_i − y_match[i]|², summed in float64. The error is a
// PairError or an ErrShape; match is then unspecified.
func (s *Solver) Solve(match []int32, x, y []float32, d int) (cost float64, err error) {
	n := len(match)
	if n < 1 || n > MaxPoints {
		return 0, fmt.Errorf("%d points are outside 1 to %d: %w", n, MaxPoints, ErrShape)
	}
	if d < 1 || d > MaxDimension {
		return 0, fmt.Errorf("dimension %d is outside 1 to %d: %w", d, MaxDimension, ErrShape)
	}
	if len(x) != n*d || len(y) != n*d {
		return 0, fmt.Errorf("%d and %d coordinates for %d points in %d dimensions: %w", len(x), len(y), n, d, ErrShape)
	}
	if !finite(x) || !finite(y) {
		return 0, nonFinite(x, y, d)
	}
	if s.set == unknown {
		s.set = widest()
	}
	s.resize(n, d)
	if d == 1 {
		s.sort(match, x, y)
	} else {
		s.layout(x, y)
		s.fillCosts()
		s.solve()
		copy(match, s.columnOf)
	}
	for i, j := range match {
		cost += squaredDistance(x[i*d:(i+1)*d], y[int(j)*d:(int(j)+1)*d])
	}
	return cost, nil
}

// squaredDistance is |a − b|². The conversions keep compilers from fusing the
// product into the sum, which would round differently on some processors.
func squaredDistance(a, b []float32) (sum float64) {
	b = b[:len(a)]
	for k, v := range a {
		difference := float64(v) - float64(b[k])
		sum += float64(difference * difference)
	}
	return sum
}

// nonFinite is a PairError for the first pair without a finite cost.
func nonFinite(x, y []float32, d int) error {
	n := len(x) / d
	for i := range n {
		for j := range n {
			if cost := squaredDistance(x[i*d:(i+1)*d], y[j*d:(j+1)*d]); cost-cost != 0 {
				return &PairError{X: i, Y: j, Cost: cost}
			}
		}
	}
	return fmt.Errorf("coordinates: %w", ErrNonFinite)
}

// resize makes room for n points in d dimensions.
func (s *Solver) resize(n, d int) {
	if n == s.n && d == s.d {
		return
	}
	stride := (n + lanes - 1) / lanes * lanes
	s.n, s.d, s.stride = n, d, stride
	if d == 1 {
		s.keys = grown(s.keys, 2*n)
		return
	}
	s.x, s.y = grown(s.x, n*d), grown(s.y, d*stride)
	for j := n; j < stride; j++ { // beyond the last point costs are infinite
		for k := range d {
			s.y[k*stride+j] = math.Inf(1)
		}
	}
	s.costs = grown(s.costs, n*stride)
	s.zero = grown(s.zero, stride)
	s.v, s.distance, s.from = grown(s.v, stride), grown(s.distance, stride), grown(s.from, stride)
	s.rowOf, s.columnOf = grown(s.rowOf, n), grown(s.columnOf, n)
	s.free, s.vacant, s.closed = grown(s.free, n), grown(s.vacant, n), grown(s.closed, n)
}

// grown returns a slice of that length, in the memory of s if it is large enough.
func grown[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
