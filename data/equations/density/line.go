package density

import (
	"errors"
	"math"
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
// needs no refinement.
type Line struct {
	Left, Right End

	quadrature *lineQuadrature
	phi        []float64 // φ at the edges of the panels
	logScale   float64   // p = σ⁻² exp(φ − logScale)
	edges      []float64 // of the panels
	cdf        []float64 // at the edges
	pdf        []float64 // at the points of the rule in all panels, which decrease in each
	tails      [2]powerTail
	mean       float64
	central    [3]float64 // moments of order 2, 3, 4 about the mean
}

// End is one end of a Line.
type End struct {
	// At is infinite, or where the coefficients end.
	At float64
	// Decay is k of p ~ |x|⁻ᵏ towards an infinite end: moments of order k − 1 and more do
	// not exist. It is infinite, or very large, if p falls faster than any power.
	Decay float64
	// Exponent is γ of log p ~ −|x|^γ towards an infinite end: 2 of a normal law, 1 of an
	// exponential tail. It is 0 for a power of x, and infinite if p falls faster still.
	Exponent float64
	// Steepens says that p falls faster than any power, but hardly so: Decay, that of the
	// farthest distances, is larger than nearer by, as of lognormal laws. Moments that need a
	// larger one may exist.
	Steepens bool
}

// powerTail is the mass beyond the panels, where p is a power of the distance from a point: from
// a finite end, to which x is nearer than that distance, or from the quadrature's centre, from
// which it is farther.
type powerTail struct{ mass, from, distance, power float64 }

func (t powerTail) pdf(x float64) float64 {
	return t.mass * math.Abs(t.power+1) / t.distance * math.Pow(math.Abs(x-t.from)/t.distance, t.power)
}

// beyond is the mass beyond x.
func (t powerTail) beyond(x float64) float64 {
	if t.mass == 0 {
		return 0
	}
	return t.mass * math.Pow(math.Abs(x-t.from)/t.distance, t.power+1)
}

// reach is how far from the point x is if that mass is beyond it.
func (t powerTail) reach(mass float64) float64 {
	return t.distance * math.Pow(mass/t.mass, 1/(t.power+1))
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
	steepens   = 0.02 // change of a decay over five octaves that no power of x has, relative to it
	mostPower  = 100  // of a density that grows as a power of x; others grow exponentially or faster
	linePanels = 1 << 14
	closest    = 1e-12 // panel to an end, times the interval's length
	maxRate    = 1e280 // of φ: sums of it do not overflow
	// mostExponent of a tail is taken for that of a power.
	mostExponent = 50
)

// ErrNoValue means that a coefficient on the given interval is not finite, or a σ zero.
var ErrNoValue = errors.New("a coefficient has no value")

// NewLine integrates the law, beginning with the interval from lo to hi, where b and σ must
// have values and σ must not vanish. It fails with ErrNotNormalisable if there is no
// invariant law on the line, with ErrTooSteep if it cannot integrate.
func NewLine(b, sigma Coefficient, lo, hi float64) (*Line, error) {
	return newLine(b, sigma, lo, hi, nil)
}

// newLine is NewLine with further edges of the first panels.
func newLine(b, sigma Coefficient, lo, hi float64, edges []float64) (*Line, error) {
	q := &lineQuadrature{b: b, sigma: sigma, centre: lo + (hi-lo)/2, length: hi - lo}
	if err := q.begin(lo, hi); err != nil {
		return nil, err
	}
	q.cut(edges)
	if _, err := q.ends(q.phases()); err != nil {
		return nil, err
	}
	if err := q.refine(); err != nil {
		return nil, err
	}
	return q.sum()
}
