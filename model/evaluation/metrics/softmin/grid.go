package softmin

import "math"

// grid interpolates sums in the plane and in space, as line does in one dimension.
// It takes the sum on a tensor grid of Chebyshev nodes (tensor.go) and sums the
// expansion at the targets (chebyshev.go). It suits boxes a few √ε wide that hold
// many targets. All is float64: an expansion loses the digits by which the sum
// varies over the box.
//
// There are always three axes; in the plane the first has one node.
type grid struct {
	nodes       [gridAxes]int
	factor      [gridAxes][]panel
	left        []panel
	sums        [][lanes]float64 // at each node, row after row; the sum is that of the lanes
	value, work []float64        // sums at the nodes, then coefficients
	polynomial  [gridAxes]polynomials
}

const (
	gridAxes = 3

	// The cost of a grid, in units of a sum in a tile at one target. On Zen 4 a
	// source takes 0.53 ns at a node of an axis, 0.075 ns at a node of the grid, and
	// 0.19 ns at a target in a tile. At a target in float64 it takes an exponential.
	gridExponential = 2.8 // at a node of an axis
	gridProduct     = 0.4 // at a node of the grid

	// gridTolerance bounds the last coefficients, relative to the smallest sum;
	// gridSingle is the bound where tiles are the alternative.
	gridTolerance = 1e-9
	gridSingle    = 3e-8

	gridSample = 16 // one source of so many is in the sample that chooses numbers of nodes

	// gridSwing bounds the absolute exponents of factors, so that those of products
	// are within exponentRange.
	gridSwing = exponentRange / 2
)

// gridPays reports whether a grid with the fewest nodes that a box of that width can
// need would take less time than sums at the targets. It is a quick estimate from
// the width; chooseNodes looks at the sources.
func (t task) gridPays(b *box) bool { return t.gridPaysBy(1, b) }

// gridPaysBy reports whether the grid would take factor times less than the targets.
func (t task) gridPaysBy(factor float64, b *box) bool {
	d := len(b.radius)
	if d < 2 || d > gridAxes {
		return false
	}
	nodes := [gridAxes]int{1, 1, 1}
	for k, r := range b.radius {
		n := gridStep * int(math.Ceil(min(6+6*r/math.Sqrt(t.eps), 1000)/gridStep))
		if n > gridNodes {
			return false
		}
		nodes[gridAxes-d+k] = n
	}
	return t.gridCheaper(factor, b, nodes)
}

// gridCheaper reports whether a grid of these nodes takes factor times less than sums
// at the targets of a box.
func (t task) gridCheaper(factor float64, b *box, nodes [gridAxes]int) bool {
	exponentials, products := 0, 1
	for _, n := range nodes {
		exponentials += n
		products *= n
	}
	targets := float64(b.hi-b.lo) / factor
	if !t.single {
		targets *= gridExponential
	}
	return gridExponential*float64(exponentials)+gridProduct*float64(products) < targets
}

// runGrid computes the targets of a box by a grid. It is false, and has done
// nothing, if a grid would not pay or does not resolve the sum.
func (t task) runGrid(s *scratch, b *box) bool {
	d, g := len(b.radius), &s.grid
	missing := gridAxes - d
	tolerance := gridTolerance
	if t.single {
		tolerance = gridSingle
	}
	var star, inverse [gridAxes]float64
	kept, top, ok := t.prepareGrid(s, b, star[:d])
	if !ok || !g.chooseNodes(s, b, kept, tolerance) || !t.gridCheaper(1, b, g.nodes) {
		return false
	}
	g.tensorSums(s.a[:kept], s.v, s.stride, b.radius)
	lowest := math.Inf(1)
	for _, v := range g.value {
		lowest = min(lowest, v)
	}
	terms, ok := g.expand(tolerance * lowest)
	if !ok {
		return false
	}
	for k, r := range b.radius {
		if r > 0 { // a box may be flat
			inverse[k] = 1 / r
		}
	}
	for lo := b.lo; lo < b.hi; lo += gridTargets {
		hi := min(lo+gridTargets, b.hi)
		for k, c := range b.centre {
			p := &g.polynomial[missing+k]
			for i, x := range t.To.axis(k)[lo:hi] {
				p[1][i] = (x - c) * inverse[k]
			}
			p.extend(terms[missing+k])
		}
		var sums [gridTargets]float64
		g.evaluate(&sums, terms)
		for i := lo; i < hi; i++ {
			var u [gridAxes]float64
			for k, c := range b.centre {
				u[k] = t.To.x[k*t.To.n+i] - c
			}
			t.Dst[i] = t.untilt(sums[i-lo], top, u[:d], star[:d], b.centre)
		}
	}
	return true
}

// prepareGrid is prepareSpace by whole groups, with the tilt of balance. It is not
// ok if the exponents of factors could leave ±gridSwing.
func (t task) prepareGrid(s *scratch, b *box, star []float64) (kept int, top float64, ok bool) {
	s.reserve(t.From.n, len(star))
	top = t.dominant(s, b, star)
	t.balance(b, top, star)
	for k := range t.From.groups {
		g := &t.From.groups[k]
		if !t.matters(s.bounds[k], top, lineCut, b, g, star) {
			continue
		}
		if t.matters(0, 0, -gridSwing, b, g, star) {
			return 0, 0, false
		}
		t.weigh(s, kept, g.lo, g.hi, top, b.centre, star)
		kept += g.hi - g.lo
	}
	return pad(s.a, s.v, s.stride, kept, len(star), lanes), top, true
}

// balance moves the tilt from y* to the mean of a sample of the sources, weighted
// by their terms at the centre of the box. The sum is then about the smallest at the
// centre, and varies least over the box.
func (t task) balance(b *box, top float64, star []float64) {
	n, curvature := t.From.n, math.Log2E/(2*t.eps)
	weight := 1. / gridSample
	var mean [gridAxes]float64
	for k, y := range star {
		mean[k] = weight * y
	}
	for j := 0; j < n; j += gridSample {
		var square float64
		for k, c := range b.centre {
			z := t.From.x[k*n+j] - c
			square += z * z
		}
		w := exp2(max(t.exponent[j]-curvature*square-top, -exponentRange))
		weight += w
		for k := range star {
			mean[k] += w * t.From.x[k*n+j]
		}
	}
	for k := range star {
		star[k] = mean[k] / weight
	}
}

// weighPlain sets a_j and v_j of the sources lo ≤ j < hi, from place at on. A weight
// below 2^−gridSwing of y*'s counts as that.
func (t task) weighPlain(s *scratch, at, lo, hi int, top float64, centre, star []float64) {
	curvature, slope := math.Log2E/(2*t.eps), math.Log2E/t.eps
	for j := lo; j < hi; j++ {
		var square float64
		for k, p := range star {
			y := t.From.x[k*t.From.n+j]
			z := y - centre[k]
			square += z * z
			s.v[k*s.stride+at+j-lo] = (y - p) * slope
		}
		s.a[at+j-lo] = max(t.exponent[j]-curvature*square-top, -gridSwing)
	}
}

// chooseNodes sets the numbers of nodes of the axes. It is false if an axis needs more
// than gridNodes. The coefficients of degree m along an axis are, for one source,
// together at most about
//
//	2^(a + Σ' r|v|) 2 I_m(z),   z = r|v| log 2,   I_m(z) ≤ (z/2)^m/m! exp(min(z, z²/4(m+1))),
//
// with the sum over the other axes. For each source of a sample, those of the last
// two degrees are to be below the tolerance times the mean term at the centre.
func (g *grid) chooseNodes(s *scratch, b *box, kept int, tolerance float64) bool {
	missing := gridAxes - len(b.radius)
	g.nodes = [gridAxes]int{1, 1, 1}
	var sum, size float64
	for j := 0; j < kept; j += gridSample {
		sum += exp2(s.a[j])
		size++
	}
	limit := math.Log2(tolerance * sum / size)
	for k, r := range b.radius {
		n := 2 * gridStep
		for j := 0; j < kept; j += gridSample {
			e := s.a[j]
			for other, r := range b.radius {
				e += math.Abs(r * s.v[other*s.stride+j])
			}
			swing := math.Abs(r * s.v[k*s.stride+j])
			if e < limit {
				continue
			}
			z := swing * math.Ln2
			for e-swing+logBessel(n-2, z) > limit {
				if n += gridStep; n > gridNodes {
					return false
				}
			}
		}
		g.nodes[missing+k] = n
	}
	return true
}

// logBessel is that bound of log2 I_m(z), z ≥ 0.
func logBessel(m int, z float64) float64 {
	return float64(m)*math.Log2(0.5*z) - logFactorial[m] + math.Log2E*min(z, 0.25*z*z/float64(m+1))
}

// logFactorial is log2 m!.
var logFactorial = func() (f [gridNodes]float64) {
	for m := 1; m < len(f); m++ {
		f[m] = f[m-1] + math.Log2(float64(m))
	}
	return f
}()
