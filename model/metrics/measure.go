package metrics

import (
	"math"
	"math/bits"
	"slices"
)

// measure is a cloud prepared for softmins: float64, and ordered so that
// neighbours in memory are neighbours in space. The order does not matter to a
// mean over all points.
type measure struct {
	n, d   int
	x      []float64 // coordinate d of point i is x[d*n+i]
	groups []box     // consecutive neighbours, all points: sources share a bound
	tree   []box     // k-d tree from its root on; nil in one dimension
}

// box is a range of consecutive points, lo ≤ i < hi, and where they lie.
type box struct {
	lo, hi      int
	centre      []float64
	radius      []float64 // half the extent, per dimension
	left, right int       // children in the tree; 0 for a leaf
}

func newMeasure(c Cloud) *measure {
	m := &measure{n: c.N, d: c.D, x: make([]float64, len(c.X))}
	if c.D == 1 {
		for i, v := range c.X {
			m.x[i] = float64(v)
		}
		slices.Sort(m.x)
		for lo := 0; lo < m.n; lo += groupPoints {
			m.groups = append(m.groups, m.bound(lo, min(lo+groupPoints, m.n)))
		}
		return m
	}
	order := make([]uint64, c.N)
	for i := range order {
		order[i] = uint64(i)
	}
	m.split(c, order, 0)
	for i, p := range order {
		for d := range c.D {
			m.x[d*c.N+i] = float64(c.X[int(uint32(p))*c.D+d])
		}
	}
	covered := 0 // points in groups; nodes come before their children
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

// axis returns the coordinates along one dimension.
func (m *measure) axis(d int) []float64 { return m.x[d*m.n : (d+1)*m.n] }

// bound is the box of a range of points.
func (m *measure) bound(lo, hi int) box {
	b := box{lo: lo, hi: hi, centre: make([]float64, m.d), radius: make([]float64, m.d)}
	for k := range m.d {
		points := m.axis(k)[lo:hi]
		low, high := slices.Min(points), slices.Max(points)
		b.centre[k] = 0.5*low + 0.5*high
		b.radius[k] = max(high-b.centre[k], b.centre[k]-low)
	}
	return b
}

// halves are the children of a node of the tree, or the halves of the points of
// a leaf or of another box.
func (m *measure) halves(b *box) [2]box {
	if b.left != 0 {
		return [2]box{m.tree[b.left], m.tree[b.right]}
	}
	middle := (b.lo + b.hi) / 2
	return [2]box{m.bound(b.lo, middle), m.bound(middle, b.hi)}
}

const (
	groupPoints = 64 // consecutive sources on the line that share a bound
	leafPoints  = 8  // points of a leaf of the k-d tree
	nodePoints  = 32 // of a node whose points share a bound as sources
)

// split orders the points into a k-d tree: it halves the range along its widest
// axis, at the median, until few are left, which it sorts. The low half of each
// element of order is a point's number, the rest is scratch; first is the place
// of order[0]. The children of a node come after it, in the order of their
// points.
func (m *measure) split(c Cloud, order []uint64, first int) (node int) {
	node = len(m.tree)
	m.tree = append(m.tree, box{lo: first, hi: first + len(order)})
	widest, width := 0, float32(-1)
	for d := range c.D {
		lo, hi := c.X[int(uint32(order[0]))*c.D+d], c.X[int(uint32(order[0]))*c.D+d]
		for _, p := range order {
			v := c.X[int(uint32(p))*c.D+d]
			lo, hi = min(lo, v), max(hi, v)
		}
		if hi-lo > width {
			widest, width = d, hi-lo
		}
	}
	for i, p := range order {
		order[i] = uint64(ascending(c.X[int(uint32(p))*c.D+widest]))<<32 | p&math.MaxUint32
	}
	if len(order) <= leafPoints {
		slices.Sort(order)
		return node
	}
	half := (len(order) + 1) / 2
	divide(order, half)
	left := m.split(c, order[:half], first)
	right := m.split(c, order[half:], first+half)
	m.tree[node].left, m.tree[node].right = left, right
	return node
}

// ascending maps finite numbers to integers in their order.
func ascending(v float32) uint32 {
	b := math.Float32bits(v)
	if b>>31 != 0 {
		return ^b
	}
	return b | 1<<31
}

// divide moves the smallest half elements, all of them different, to the front,
// by quickselect. If that takes many rounds it sorts what is left.
func divide(order []uint64, half int) {
	lo, hi := 0, len(order)
	for range 2 * bits.Len(uint(len(order))) {
		if hi-lo <= leafPoints {
			break
		}
		pivot := median(order[lo], order[(lo+hi)/2], order[hi-1])
		i, j := lo, hi-1
		for i <= j {
			for order[i] < pivot {
				i++
			}
			for order[j] > pivot {
				j--
			}
			if i <= j {
				order[i], order[j] = order[j], order[i]
				i, j = i+1, j-1
			}
		}
		switch { // those up to j are at most the pivot, those from i on at least
		case half <= j:
			hi = j + 1
		case half > i:
			lo = i
		default:
			return
		}
	}
	slices.Sort(order[lo:hi])
}

// median is that of three.
func median(a, b, c uint64) uint64 { return max(min(a, b), min(max(a, b), c)) }
