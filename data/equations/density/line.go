package density

import (
	"errors"
	"math"
	"sort"
)

// Coefficient writes b or σ at every x to dst; NaN or infinity where it has no value.
type Coefficient func(dst, x []float64)

// Line is the invariant law of dX = b(X)dt + σ(X)dW (Itô) on the whole line, for
// coefficients that are known everywhere, as formulas are. Its density is that of the
// speed measure,
//
//	p(x) ∝ σ(x)⁻² exp φ(x),  φ(x) = ∫ 2b/σ² dx.
//
// Panels, on each of which a Gauss–Legendre rule of 8 points has converged, reach from a
// given interval outwards to 10⁹ times its length. Beyond, p is a power of x. Where a
// coefficient has no value, or σ changes its sign, the line ends.
//
// A Density is the law of a table. It knows the kinks and the tails of its coefficients, so it
// needs no refinement, and it has a density and quantiles; a Line has neither.
type Line struct {
	Left, Right End

	edges    []float64 // of the panels
	cdf      []float64 // at the edges
	centre   float64   // of the given interval
	mean, m2 float64   // of x − centre and its square
}

// End is one end of a Line.
type End struct {
	// At is infinite, or where the coefficients end.
	At float64
	// Decay is k of p ~ |x|⁻ᵏ towards an infinite end: moments of order k − 1 and more do
	// not exist. It is infinite, or very large, if p falls faster than any power.
	Decay float64
}

const (
	firstPanels = 512  // on the given interval
	growth      = 1.25 // of successive panels outside
	farthest    = 1e9  // from the interval, times its length
	// nearest is how far from the interval coefficients may cease to have values, times its
	// length, without being taken for the end of the line: exp(x) − exp(x) is NaN far out.
	nearest    = 50
	settled    = 1e-9 // change of φ and of log mass, relative to that of φ
	borderline = 1e-3 // of a decay
	mostPower  = 100  // of a density that grows as a power of x; others grow exponentially or faster
	linePanels = 1 << 14
	closest    = 1e-12 // panel to an end, times the interval's length
	maxRate    = 1e280 // of φ: sums of it do not overflow
)

// ErrNoValue means that a coefficient on the given interval is not finite, or a σ zero.
var ErrNoValue = errors.New("a coefficient has no value")

// NewLine integrates the law, beginning with the interval from lo to hi, where b and σ must
// have values and σ must not vanish. It fails with ErrNotNormalisable if there is no
// invariant law on the line, with ErrTooSteep if it cannot integrate.
func NewLine(b, sigma Coefficient, lo, hi float64) (*Line, error) {
	q := &lineQuadrature{b: b, sigma: sigma, centre: lo + (hi-lo)/2, length: hi - lo}
	if err := q.begin(lo, hi); err != nil {
		return nil, err
	}
	if _, err := q.ends(q.phases()); err != nil {
		return nil, err
	}
	if err := q.refine(); err != nil {
		return nil, err
	}
	return q.sum()
}

// CDF is the probability of (−∞, x]. It is exact at the Edges, which include the ends of
// the interval that the integration began with, and linear between them.
func (l *Line) CDF(x float64) float64 {
	k := sort.SearchFloat64s(l.edges, x)
	switch k {
	case 0:
		return l.cdf[0] // far below any rounding of x
	case len(l.edges):
		return 1
	}
	t := (x - l.edges[k-1]) / (l.edges[k] - l.edges[k-1])
	return l.cdf[k-1] + t*(l.cdf[k]-l.cdf[k-1])
}

// Edges are the ends of the panels, in increasing order, and the CDF there. The caller must
// not change them.
func (l *Line) Edges() (x, cdf []float64) { return l.edges, l.cdf }

// Mean is E X; NaN if it does not exist.
func (l *Line) Mean() float64 {
	if l.heaviest() <= 2+borderline {
		return math.NaN()
	}
	return l.centre + l.mean
}

// Variance is Var X; NaN if it does not exist.
func (l *Line) Variance() float64 {
	if l.heaviest() <= 3+borderline {
		return math.NaN()
	}
	return l.m2 - l.mean*l.mean
}

// heaviest is the least decay of the infinite ends.
func (l *Line) heaviest() float64 { return min(l.Left.Decay, l.Right.Decay) }
