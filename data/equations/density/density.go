// Package density computes the invariant density of a one-dimensional SDE from
// its coefficients by quadrature, to nearly double precision.
package density

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sort"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrNotNormalisable means that an equation has no invariant probability law.
var ErrNotNormalisable = errors.New("invariant density cannot be normalised")

// ErrTooSteep means that coefficients vary too much between two nodes to integrate the
// density. The equation has an invariant law nevertheless.
var ErrTooSteep = errors.New("coefficients are too steep to integrate")

// Density is the invariant law of dX = b(X)dt + σ(X)dW (Itô),
//
//	p(x) ∝ σ(x)⁻² exp φ(x),  φ(x) = ∫ 2b/σ² dx,
//
// for coefficients that are linear between the grid's nodes and constant
// outside. There p has exponential tails, which are integrated in closed form;
// inside, p is integrated by Gauss–Legendre rules of 8 points on intervals over
// which φ changes by at most 2. All sums are of logarithms, so wells may be arbitrarily
// deep. It is safe for concurrent use.
type Density struct {
	intervals []interval
	edges     []float64 // left ends of the intervals, and the grid's right end
	cdf       []float64 // at the edges; cdf[0] is the left tail's mass
	logScale  float64   // p = σ⁻² exp(φ − logScale)
	left      tail
	right     tail
}

// tail is an exponential tail p = density·exp(−rate·distance).
type tail struct {
	start, density, rate float64
}

func (t tail) mass() float64 { return t.density / t.rate }

// New integrates the law of c. It refuses invalid coefficients, a drift that
// does not point inward at both ends (ErrNotNormalisable), and coefficients
// that vary too steeply between nodes to be integrated.
func New(c sde.Coefficients) (*Density, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := Normalisable(c); err != nil {
		return nil, err
	}
	intervals, err := divide(c)
	if err != nil {
		return nil, err
	}
	d := &Density{intervals: intervals}
	d.integrate(c)
	return d, nil
}

// Normalisable is nil if valid coefficients have an invariant law. Otherwise the error,
// ErrNotNormalisable, names the end at which the drift does not point inward.
func Normalisable(c sde.Coefficients) error {
	if b := c.Drift[0]; b <= 0 {
		return fmt.Errorf("%w: the drift is %.6g at the left end x = %.6g, must be positive", ErrNotNormalisable, b, c.Grid.Lo)
	}
	if b := c.Drift[c.Grid.N-1]; b >= 0 {
		return fmt.Errorf("%w: the drift is %.6g at the right end x = %.6g, must be negative", ErrNotNormalisable, b, c.Grid.Hi)
	}
	return nil
}

// integrate computes masses and then normalises. φ is as divide left it, near zero where p
// is largest.
func (d *Density) integrate(c sde.Coefficients) {
	n := len(d.intervals)
	d.edges, d.cdf = make([]float64, n+1), make([]float64, n+1)
	last := &d.intervals[n-1]
	leftRate := 2 * float64(c.Drift[0]) / square(float64(c.Diffusion[0]))
	rightRate := -2 * float64(c.Drift[c.Grid.N-1]) / square(float64(c.Diffusion[c.Grid.N-1]))
	phiEnd, _ := last.phase(last.width)
	d.left = tail{c.Grid.Lo, d.weight(d.intervals[0].phi, float64(c.Diffusion[0])), leftRate}
	d.right = tail{c.Grid.Hi, d.weight(phiEnd, float64(c.Diffusion[c.Grid.N-1])), rightRate}

	total := d.left.mass() + d.right.mass()
	for i := range d.intervals {
		in := &d.intervals[i]
		var mass float64
		phases, sigmas := in.phases(in.width)
		for j, phi := range phases {
			mass += in.width / 2 * weights[j] * d.weight(phi, sigmas[j])
		}
		total += mass
		d.edges[i], d.cdf[i+1] = in.start, mass
	}
	d.edges[n] = c.Grid.Hi

	d.cdf[0] = d.left.mass() / total
	for i := range n {
		d.cdf[i+1] = d.cdf[i] + d.cdf[i+1]/total
	}
	// Close the gap that rounding may leave before the right tail.
	end := 1 - d.right.mass()/total
	for i := n; i >= 0 && (i == n || d.cdf[i] > end); i-- {
		d.cdf[i] = end
	}
	d.logScale += math.Log(total)
	d.left.density /= total
	d.right.density /= total
}

// weight is σ⁻² exp(φ − logScale).
func (d *Density) weight(phi, sigma float64) float64 {
	return math.Exp(phi-d.logScale) / (sigma * sigma)
}

func square(x float64) float64 { return x * x }

// PDF is the density p(x).
func (d *Density) PDF(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x <= d.left.start:
		return d.left.density * math.Exp(-d.left.rate*(d.left.start-x))
	case x >= d.right.start:
		return d.right.density * math.Exp(-d.right.rate*(x-d.right.start))
	}
	in := &d.intervals[d.locate(x)]
	phi, sigma := in.phase(x - in.start)
	return d.weight(phi, sigma)
}

// CDF is the probability of (−∞, x].
func (d *Density) CDF(x float64) float64 {
	switch {
	case math.IsNaN(x):
		return x
	case x <= d.left.start:
		return d.left.mass() * math.Exp(-d.left.rate*(d.left.start-x))
	case x >= d.right.start:
		return 1 - d.right.mass()*math.Exp(-d.right.rate*(x-d.right.start))
	}
	k := d.locate(x)
	return d.cdf[k] + d.mass(k, x-d.edges[k])
}

// locate finds the interval of an x inside the grid.
func (d *Density) locate(x float64) int {
	return sort.Search(len(d.intervals)-1, func(k int) bool { return d.edges[k+1] > x })
}

// mass is the probability of the first t of interval k.
func (d *Density) mass(k int, t float64) float64 {
	phases, sigmas := d.intervals[k].phases(t)
	var sum float64
	for j, phi := range phases {
		sum += weights[j] * d.weight(phi, sigmas[j])
	}
	return t / 2 * sum
}

// Quantile is the x with CDF(x) = u; −∞ at 0, +∞ at 1 and NaN outside [0, 1].
func (d *Density) Quantile(u float64) float64 {
	n := len(d.intervals)
	switch {
	case !(u >= 0 && u <= 1):
		return math.NaN()
	case u == 0 || u == 1:
		return math.Inf(int(2*u - 1))
	case u <= d.cdf[0]:
		return d.left.start + math.Log(u/d.left.mass())/d.left.rate
	case u >= d.cdf[n]:
		return d.right.start - math.Log((1-u)/d.right.mass())/d.right.rate
	}
	k := sort.Search(n-1, func(k int) bool { return d.cdf[k+1] > u })
	in := &d.intervals[k]
	want := u - d.cdf[k]
	// Newton's method inside a shrinking bracket. p varies by a factor of at most e² over
	// the interval, so a few steps suffice.
	lo, hi := 0.0, in.width
	t := in.width * want / (d.cdf[k+1] - d.cdf[k])
	for range 60 {
		miss := d.mass(k, t) - want
		if miss < 0 {
			lo = t
		} else {
			hi = t
		}
		phi, sigma := in.phase(t)
		next := t - miss/d.weight(phi, sigma)
		if !(next >= lo && next <= hi) {
			next = lo + (hi-lo)/2
		}
		if math.Abs(next-t) <= 1e-8*in.width { // convergence is quadratic
			return in.start + next
		}
		t = next
	}
	return in.start + t
}

// Sample fills dst with independent draws, by the table of Inverse.
func (d *Density) Sample(dst []float32, rng *rand.Rand) { d.Inverse().Sample(dst, rng) }
