package density

import (
	"iter"
	"math"
)

// Mean is E X; NaN if it does not exist.
func (l *Line) Mean() float64 { return l.exists(1, l.mean) }

// Variance is Var X; NaN if it does not exist.
func (l *Line) Variance() float64 { return l.exists(2, l.central[0]) }

// Skewness is E (X−μ)³/σ³; NaN if it does not exist.
func (l *Line) Skewness() float64 {
	return l.exists(3, l.central[1]/math.Pow(l.central[0], 1.5))
}

// Kurtosis is E (X−μ)⁴/σ⁴, 3 for a normal law; NaN if it does not exist.
func (l *Line) Kurtosis() float64 {
	return l.exists(4, l.central[2]/(l.central[0]*l.central[0]))
}

// exists is a moment of that order, or NaN if p falls too slowly for it.
func (l *Line) exists(order int, moment float64) float64 {
	if min(l.Left.Decay, l.Right.Decay) <= float64(order+1)+borderline {
		return math.NaN()
	}
	return moment
}

// moments sets the mean and the central moments, as far as the panels and the tails beyond them
// have them.
func (l *Line) moments() {
	first := l.tailMoment(l.quadrature.centre, 1)
	for x, m := range l.masses() {
		first += m * (x - l.quadrature.centre)
	}
	l.mean = l.quadrature.centre + first
	for k := range l.central {
		l.central[k] = l.tailMoment(l.mean, k+2)
	}
	for x, m := range l.masses() {
		d := x - l.mean
		l.central[0] += m * d * d
		l.central[1] += m * d * d * d
		l.central[2] += m * d * d * d * d
	}
}

// masses are the points of the rules in all panels with the masses that they stand for.
func (l *Line) masses() iter.Seq2[float64, float64] {
	return func(yield func(x, mass float64) bool) {
		for k := range len(l.edges) - 1 {
			half := (l.edges[k+1] - l.edges[k]) / 2
			for j, p := range l.pdf[order*k:][:order] {
				if p > 0 && !yield(l.edges[k]+half*(1+nodes[j]), half*weights[j]*p) {
					return
				}
			}
		}
	}
}

// tailMoment is the part of E (X−about)ⁿ beyond the panels.
func (l *Line) tailMoment(about float64, n int) (sum float64) {
	q := l.quadrature
	for side, t := range l.tails {
		if t.mass == 0 {
			continue
		}
		// Of p ~ y^power, y the distance. Of an infinite end, so far out, the two points are
		// near one another; of a finite one, x is near the end.
		sign, power := float64(2*side-1), t.power+1
		if q.finite[side] {
			sum += t.mass * math.Pow(t.from-about, float64(n))
			continue
		}
		sum += t.mass * math.Pow(sign*t.distance-(about-t.from), float64(n)) * power / (power + float64(n))
	}
	return sum
}
