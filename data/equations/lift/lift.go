// Package lift carries an equation on a domain to coordinates z without ends, in which chains,
// probes and flows move. States x are images of z:
//
//	line          x = z
//	(lo, inf)     x = lo + exp z
//	(-inf, hi)    x = hi − exp(−z)
//	(lo, hi)      x = lo + (hi − lo)/(1 + exp(−z))
//	circle        x is z up to whole periods
//	reflect       x is z, folded back at the ends
//
// With open ends the equation of z is Itô's, dz = (g′b + ½g″(SSᵀ)ₖₖ)dt + g′S dW for z = g(x), so that
// no step can leave the domain. On a circle z goes on where x begins again. Behind a reflecting end
// z has the mirror image of the equation: the state folded back after an Euler step is that of the
// symmetrised Euler scheme, of weak order 1 (Bossy, Gobet and Talay 2004, J. Appl. Probab. 41).
package lift

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Up is a coordinate z of the state x, the one inside the range where there are several.
func Up(r sde.Range, x float64) float64 {
	if r.Ends != sde.Open {
		return x
	}
	switch {
	case math.IsInf(r.Hi, 0):
		return logarithm(x - r.Lo)
	case math.IsInf(r.Lo, 0):
		return -logarithm(r.Hi - x)
	}
	return logarithm(x-r.Lo) - logarithm(r.Hi-x)
}

// Down is the state of a coordinate z.
func Down(r sde.Range, z float64) float64 {
	switch r.Ends {
	case sde.Open:
		from, to := distances(r, exponential(z), exponential(-z))
		if math.IsInf(r.Lo, 0) || to < from {
			return r.Hi - to
		}
		return r.Lo + from
	case sde.Reflecting:
		x, _ := r.Fold(z)
		return x
	case sde.Joined:
		return r.Wrap(z)
	}
	return z
}

// distances are those of a state from the ends of an open range, of which an infinite one counts as
// infinitely far.
func distances(r sde.Range, exp, inverse float64) (from, to float64) {
	switch {
	case math.IsInf(r.Hi, 0):
		return exp, math.Inf(1)
	case math.IsInf(r.Lo, 0):
		return math.Inf(1), inverse
	}
	return r.Width() / (1 + inverse), r.Width() / (1 + exp)
}

func logarithm(x float64) float64 {
	v := [1]float64{x}
	expression.Log(v[:], v[:])
	return v[0]
}

func exponential(x float64) float64 {
	v := [1]float64{x}
	expression.Exp(v[:], v[:])
	return v[0]
}

// farthest is where a state has an open end at 1e-148 of the unit: from there on squares of its
// distance underflow.
const farthest = 340

// Limits are between which coordinates z the state is within ±bound and apart from open ends.
func Limits(r sde.Range, bound float64) (least, most float64) {
	if r.Ends != sde.Open {
		return -bound, bound
	}
	least, most = -farthest, farthest
	if math.IsInf(r.Hi, 0) {
		most = logarithm(bound - r.Lo)
	}
	if math.IsInf(r.Lo, 0) {
		least = -logarithm(bound + r.Hi)
	}
	return least, most
}

// circleOf is the circle on which coordinate z of a range goes round, if it does. Between two
// reflecting ends the period is there and back, and its middle is the lower end.
func circleOf(r sde.Range) (sde.Range, bool) {
	switch {
	case r.Ends == sde.Joined:
		return r, true
	case r.Ends == sde.Reflecting && !math.IsInf(r.Width(), 0):
		return sde.Range{Ends: sde.Joined, Lo: r.Lo - r.Width(), Hi: r.Hi}, true
	}
	return sde.WholeLine, false
}

// box is the image of an interval of states; with a reflecting end, on both sides of that.
func box(r sde.Range, x sde.Interval) sde.Interval {
	if circle, ok := circleOf(r); ok {
		return sde.Interval{Lo: circle.Lo, Hi: circle.Hi}
	}
	switch {
	case r.Ends == sde.Reflecting && math.IsInf(r.Hi, 0):
		return sde.Interval{Lo: r.Lo - (x.Hi - r.Lo), Hi: x.Hi}
	case r.Ends == sde.Reflecting:
		return sde.Interval{Lo: x.Lo, Hi: r.Hi + (r.Hi - x.Lo)}
	}
	return sde.Interval{Lo: Up(r, x.Lo), Hi: Up(r, x.Hi)}
}

// Of is the equation of the coordinates z, s itself where its domain has no ends. Its own domain
// has circles at most. Its diffusion has a number for each coordinate at least where an end is open.
func Of(s sde.Space) sde.Space {
	if !s.Domain.Restricts() {
		return s
	}
	d := s.Dim()
	lifted := sde.Space{Box: make([]sde.Interval, d), Domain: make(sde.Domain, d), Terms: s.Terms, Noise: s.Noise}
	for k, r := range s.Domain {
		lifted.Box[k] = box(r, s.Box[k])
		lifted.Domain[k], _ = circleOf(r)
	}
	if s.Domain.Has(sde.Open) {
		lifted.Terms = max(s.Terms, d)
		lifted.Noise = sde.AnyNoise
		if s.Noise != sde.AnyNoise && lifted.Terms == d { // each number times the slope of its coordinate
			lifted.Noise = sde.DiagonalNoise
		}
	}
	lifted.Bind = func(engine string, z []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
		return bind(s, lifted.Terms, engine, z)
	}
	return lifted
}

// Moved are states [n, Dim] in coordinates z, with the drift [n, Dim] and the mean of SSᵀ [Dim, Dim]
// that they have there: those of Euler steps.
func Moved(s sde.Space, states []float64) (z, drift, noise []float64) {
	z = slices.Clone(states)
	for at := range z {
		z[at] = Up(s.Domain.At(at%s.Dim()), z[at])
	}
	lifted := Of(s)
	drift, terms := lifted.Coefficients(z)
	return z, drift, lifted.MeanSpread(terms)
}

// bound is an equation of z, ready to be evaluated.
type bound struct {
	domain sde.Domain
	terms  int // of s
	z, x   []*[sde.Lanes]float64
	turned [][sde.Lanes]bool // by coordinate, which states are behind a reflecting end
	// slope and bend are g′ and g″, by coordinate with open ends.
	slope, bend [][sde.Lanes]float64

	evaluate             func(n int)
	ofX, ofXDiffusion    []*[sde.Lanes]float64
	drift, diffusion     []*[sde.Lanes]float64
	exp, inverse, spread [sde.Lanes]float64
}

func bind(s sde.Space, terms int, engine string, z []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
	d := s.Dim()
	b := &bound{domain: s.Domain, terms: s.Terms, z: z, x: s.Blocks(),
		turned: make([][sde.Lanes]bool, d), slope: make([][sde.Lanes]float64, d), bend: make([][sde.Lanes]float64, d)}
	for k, r := range s.Domain {
		if r.Ends == sde.NoEnds {
			b.x[k] = z[k]
		}
	}
	b.evaluate, b.ofX, b.ofXDiffusion = s.Bind(engine, b.x)
	b.drift, b.diffusion = slices.Clone(b.ofX), slices.Clone(b.ofXDiffusion)
	for k, r := range s.Domain { // where they differ from those of x
		if r.Ends == sde.Open || r.Ends == sde.Reflecting {
			b.drift[k] = new([sde.Lanes]float64)
		}
	}
	if s.Domain.Has(sde.Open) {
		b.diffusion = make([]*[sde.Lanes]float64, terms)
		for k := range b.diffusion {
			b.diffusion[k] = new([sde.Lanes]float64)
		}
	}
	return b.run, b.drift, b.diffusion
}

func (b *bound) run(n int) {
	for k, r := range b.domain {
		b.place(k, r, n)
	}
	b.evaluate(n)
	for k, r := range b.domain {
		switch r.Ends {
		case sde.Reflecting:
			for l, v := range b.ofX[k][:n] {
				if b.turned[k][l] {
					v = -v
				}
				b.drift[k][l] = v
			}
		case sde.Open:
			b.spreadOf(k, n)
			for l, v := range b.ofX[k][:n] {
				b.drift[k][l] = float64(b.slope[k][l]*v) + float64(float64(b.bend[k][l]*0.5)*b.spread[l])
			}
		}
	}
	if b.domain.Has(sde.Open) {
		b.scale(n)
	}
}

// place writes the states of coordinate k.
func (b *bound) place(k int, r sde.Range, n int) {
	x, z := b.x[k], b.z[k]
	switch r.Ends {
	case sde.Joined:
		for l, v := range z[:n] {
			x[l] = r.Wrap(v)
		}
	case sde.Reflecting:
		for l, v := range z[:n] {
			x[l], b.turned[k][l] = r.Fold(v)
		}
	case sde.Open:
		for l, v := range z[:n] {
			b.inverse[l] = -v
		}
		expression.Exp(b.exp[:n], z[:n])
		expression.Exp(b.inverse[:n], b.inverse[:n])
		for l := range n {
			from, to := distances(r, b.exp[l], b.inverse[l])
			p, q := 1/from, 1/to
			b.slope[k][l], b.bend[k][l] = p+q, float64(q*q)-float64(p*p)
			if to < from || math.IsInf(r.Lo, 0) {
				x[l] = r.Hi - to
			} else {
				x[l] = r.Lo + from
			}
		}
	}
}

// spreadOf is (SSᵀ)ₖₖ.
func (b *bound) spreadOf(k, n int) {
	d := len(b.domain)
	row := b.ofXDiffusion[min(k, b.terms-1):][:1]
	if b.terms > d {
		row = b.ofXDiffusion[k*d:][:d]
	}
	clear(b.spread[:n])
	for _, block := range row {
		for l, v := range block[:n] {
			b.spread[l] += float64(v * v)
		}
	}
}

// scale writes g′S: each row of the diffusion times the slope of its coordinate.
func (b *bound) scale(n int) {
	d := len(b.domain)
	for at, dst := range b.diffusion {
		from, row := b.ofXDiffusion[min(at, b.terms-1)], at
		if b.terms > d {
			row = at / d
		}
		if b.domain[row].Ends != sde.Open {
			copy(dst[:n], from[:n])
			continue
		}
		for l, v := range from[:n] {
			dst[l] = float64(b.slope[row][l] * v)
		}
	}
}
