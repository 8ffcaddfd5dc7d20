package density

import "math"

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
	q := l.quadrature
	mass := make([]float64, 0, len(q.panels)*len(weights)) // of the points of all panels
	for k := range q.panels {
		p, high := &q.panels[k], q.high(l.phi, k)-l.logScale
		for j, log := range p.logs {
			mass = append(mass, p.width/2*weights[j]*math.Exp(high+log))
		}
	}
	each := func(visit func(x, mass float64)) {
		i := 0
		for k := range q.panels {
			for j := range q.panels[k].logs {
				visit(q.panels[k].at(j), mass[i])
				i++
			}
		}
	}
	first := l.tailMoment(q.centre, 1)
	each(func(x, m float64) { first += m * (x - q.centre) })
	l.mean = q.centre + first
	for k := range l.central {
		l.central[k] = l.tailMoment(l.mean, k+2)
	}
	each(func(x, m float64) {
		d := x - l.mean
		for k, power := 0, d*d; k < len(l.central); k, power = k+1, power*d {
			l.central[k] += m * power
		}
	})
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
