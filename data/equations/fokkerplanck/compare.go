package fokkerplanck

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
)

// Difference is where samples and a law differ most, of all half-planes and quadrants at the corners of
// cells. That of a quadrant is the distance of Peacock (Mon. Not. R. Astron. Soc. 202, 1983), that of a
// half-plane the one of Kolmogorov and Smirnov along a coordinate.
type Difference struct {
	// At is a corner of the cells, as a state, and Above says along which coordinates the quadrant
	// there is above it. A half-plane is below +Inf along a coordinate.
	At    [2]float64
	Above [2]bool
	// Law and Have are the masses of the law and of the samples in the quadrant.
	Law, Have float64
}

// Chance is what √n times the gap of n draws of the law exceeds once in 1,000 times (Peacock).
const Chance = 2.45

// Gap is how much the masses differ.
func (d Difference) Gap() float64 { return math.Abs(d.Law - d.Have) }

// From compares samples x [n, 2] with the law.
func (l *Law) From(x []float32) Difference {
	mass := make([]float64, l.n*l.n)
	each := 2 / float64(len(x))
	for i := 0; i < len(x); i += 2 {
		var at [2]int
		for c, side := range l.axes {
			r := l.domain.At(c)
			z := lift.Up(r, float64(x[i+c]))
			at[c] = int(min(max((z-side.lo)/l.side(c), 0), float64(l.n-1))) // beyond the box: at its end
		}
		mass[at[0]*l.n+at[1]] += each
	}
	law, have := quadrants{l.below, l.n + 1}, quadrants{l.cumulated(mass), l.n + 1}
	q, gap := law.apart(have, true)
	if other, more := law.apart(have, false); more > clearer*gap {
		q = other
	}
	d := Difference{Above: q.above, Law: law.mass(q), Have: have.mass(q)}
	for c, at := range [2]int{q.i, q.j} {
		if d.At[c] = math.Inf(1); at < l.n {
			d.At[c] = lift.Down(l.domain.At(c), l.axes[c].lo+float64(at)*l.side(c))
		}
	}
	return d
}

// clearer is how much more a quadrant must show than a half-plane, which is easier to understand.
const clearer = 1.1

// Outside is the part of states [n, 2] that are beyond the box of the cells.
func (l *Law) Outside(states []float32) float64 {
	count := 0
	for i := 0; i < len(states); i += 2 {
		for c, side := range l.axes {
			if z := lift.Up(l.domain.At(c), float64(states[i+c])); !(z >= side.lo && z <= side.hi) {
				count++
				break
			}
		}
	}
	return float64(count) / float64(len(states)/2)
}

// quadrants are a distribution function at the corners of cells.
type quadrants struct {
	below []float64
	width int // corners along an axis
}

// quadrant is one of the four at a corner.
type quadrant struct {
	i, j  int
	above [2]bool
}

// mass is P(X₀ ≤ a, X₁ ≤ b) of a corner (a, b), or with > along a coordinate that the quadrant is above.
func (q quadrants) mass(of quadrant) float64 {
	at := func(i, j int) float64 { return q.below[i*q.width+j] }
	last := q.width - 1
	switch both := at(of.i, of.j); of.above {
	case [2]bool{false, true}:
		return at(of.i, last) - both
	case [2]bool{true, false}:
		return at(last, of.j) - both
	case [2]bool{true, true}:
		return at(last, last) - at(of.i, last) - at(last, of.j) + both
	default:
		return both
	}
}

// apart finds the quadrant whose masses differ most, and by how much, or the half-plane.
func (q quadrants) apart(other quadrants, halves bool) (worst quadrant, most float64) {
	last := q.width - 1
	for i := range q.width {
		for j := range q.width {
			if halves && i < last && j < last {
				continue
			}
			for _, above := range [][2]bool{{}, {false, true}, {true, false}, {true, true}} {
				of := quadrant{i, j, above}
				if gap := math.Abs(q.mass(of) - other.mass(of)); gap > most {
					worst, most = of, gap
				}
			}
		}
	}
	return worst, most
}
