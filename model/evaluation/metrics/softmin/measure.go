package softmin

import (
	"math"
	"math/bits"
	"slices"
)

// Measure is a cloud prepared for softmins: in float64, and ordered so that
// neighbours in memory are neighbours in space. The order does not matter to a
// mean over all points. It does not change once made.
type Measure struct {
	n, d   int
	x      []float64 // coordinate d of point i is x[d*n+i]
	groups []box     // a partition into neighbours, which as sources share a bound
	tree   []box     // k-d tree, the root first; nil in one dimension
}

// box is a range of consecutive points, lo ≤ i < hi, and its bounding box.
type box struct {
	lo, hi      int
	centre      []float64
	radius      []float64 // half the extent, per dimension
	left, right int       // children in the tree; 0 for a leaf
}

// NewMeasure prepares n ≥ 1 points in d dimensions: coordinate k of point i is
// points[i*d+k], finite.
func NewMeasure(n, d int, points []float32) *Measure {
	m := &Measure{n: n, d: d, x: make([]float64, len(points))}
	if d == 1 {
		for i, v := range points {
			m.x[i] = float64(v)
		}
		slices.Sort(m.x)
		for lo := 0; lo < m.n; lo += groupPoints {
			m.groups = append(m.groups, m.bound(lo, min(lo+groupPoints, m.n)))
		}
		return m
	}
	order := make([]uint64, n)
	for i := range order {
		order[i] = uint64(i)
	}
	m.split(points, order, 0)
	for i, key := range order {
		p := int(uint32(key))
		for k := range d {
			m.x[k*n+i] = float64(points[p*d+k])
		}
	}
	covered := 0 // points in groups so far; nodes come before their children
	for k, b := range m.tree {
		bounded := m.bound(b.lo, b.hi)
		bounded.left, bounded.right = b.left, b.right
		m.tree[k] = bounded
		if b.hi-b.lo <= nodePoints && b.lo == covered {
			m.groups = append(m.groups, bounded)
			covered = b.hi
		}
	}
	return m
}

// Len is the number of points.
func (m *Measure) Len() int { return m.n }

// Line returns the coordinates of points in one dimension, in rising order.
func (m *Measure) Line() []float64 { return m.axis(0) }

// axis returns the coordinates along dimension k.
func (m *Measure) axis(k int) []float64 { return m.x[k*m.n : (k+1)*m.n] }

// bound is the box of a range of points.
func (m *Measure) bound(lo, hi int) box {
	b := box{lo: lo, hi: hi, centre: make([]float64, m.d), radius: make([]float64, m.d)}
	for k := range m.d {
		points := m.axis(k)[lo:hi]
		low, high := slices.Min(points), slices.Max(points)
		b.centre[k] = 0.5*low + 0.5*high
		b.radius[k] = max(high-b.centre[k], b.centre[k]-low)
	}
	return b
}

// halves are the children of a node of the tree. A leaf, or a box that is no node,
// is halved by number of points.
func (m *Measure) halves(b *box) [2]box {
	if b.left != 0 {
		return [2]box{m.tree[b.left], m.tree[b.right]}
	}
	middle := (b.lo + b.hi) / 2
	return [2]box{m.bound(b.lo, middle), m.bound(middle, b.hi)}
}

const (
	groupPoints = 64 // points of a group on the line
	leafPoints  = 8  // most points of a leaf of the k-d tree
	nodePoints  = 32 // most points of a node that is a group
)

// split orders the points into a k-d tree: it halves a range at the median of its
// widest axis until few points are left. first is the place of order[0] among all
// points. A node's children come after it, in the order of their points. The low
// 32 bits of an element of order are a point's number, the high ones its sort key.
func (m *Measure) split(points []float32, order []uint64, first int) (node int) {
	node = len(m.tree)
	m.tree = append(m.tree, box{lo: first, hi: first + len(order)})
	if len(order) <= leafPoints {
		return node
	}
	widest, width := 0, float32(-1)
	for k := range m.d {
		lo := points[int(uint32(order[0]))*m.d+k]
		hi := lo
		for _, p := range order {
			v := points[int(uint32(p))*m.d+k]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > width {
			widest, width = k, hi-lo
		}
	}
	for i, p := range order {
		order[i] = sortable(points[int(uint32(p))*m.d+widest])<<32 | uint64(uint32(p))
	}
	half := (len(order) + 1) / 2
	partition(order, half)
	left := m.split(points, order[:half], first)
	right := m.split(points, order[half:], first+half)
	m.tree[node].left, m.tree[node].right = left, right
	return node
}

// sortable is a number below 2³² that increases with v.
func sortable(v float32) uint64 {
	b := math.Float32bits(v)
	if b>>31 == 1 {
		return uint64(^b)
	}
	return uint64(b | 1<<31)
}

// partition moves the n smallest keys to the front, in any order. Keys differ. It
// is quickselect, which sorts what is left after 2 log₂ of the length rounds.
func partition(keys []uint64, n int) {
	for rounds := 2 * bits.Len(uint(len(keys))); rounds > 0 && len(keys) > 16; rounds-- {
		a, b, c := keys[0], keys[len(keys)/2], keys[len(keys)-1]
		pivot := max(min(a, b), min(max(a, b), c))
		i, j := 0, len(keys)-1
		for i <= j {
			for keys[i] < pivot {
				i++
			}
			for keys[j] > pivot {
				j--
			}
			if i <= j {
				keys[i], keys[j] = keys[j], keys[i]
				i, j = i+1, j-1
			}
		}
		switch { // keys up to j are at most the pivot, those from i on at least
		case n <= j:
			keys = keys[:j+1]
		case n > i:
			keys, n = keys[i:], n-i
		default:
			return
		}
	}
	slices.Sort(keys)
}
