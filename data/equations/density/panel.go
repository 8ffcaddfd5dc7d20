package density

import (
	"math"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/expression"
)

// panel is an interval with what the rule of 8 points gives.
type panel struct {
	start, width float64
	phase, mass  bool           // whether φ and the mass are settled
	change       float64        // of φ over the panel
	top          float64        // the largest log p at the points, relative to φ at the end where it is higher
	logMass      float64        // log ∫ p, likewise
	logs         [order]float64 // log p at the points, likewise
	bad          bool           // a value is missing, or σ has not its sign
	overflow     bool           // because it is infinite
}

// values are those at the points of panels. Integrations use their memory again.
type values struct{ x, b, s []float64 }

var used = sync.Pool{New: func() any { return new(values) }}

// evaluate applies the rule to panels.
func (q *lineQuadrature) evaluate(panels []panel) {
	v := used.Get().(*values)
	defer used.Put(v)
	n := order * len(panels)
	if cap(v.x) < n {
		*v = values{make([]float64, n), make([]float64, n), make([]float64, n)}
	}
	x, b, s := v.x[:n], v.b[:n], v.s[:n]
	for i := range panels {
		for j := range order {
			x[order*i+j] = panels[i].at(j)
		}
	}
	q.b(b, x)
	q.sigma(s, x)
	for i := range panels {
		panels[i].rates(b[order*i:][:order], s[order*i:][:order], q.sign)
	}
	expression.Log(s, s)
	for i := range panels {
		panels[i].phases(x[order*i:][:order], (*[order]float64)(b[order*i:]), s[order*i:][:order])
	}
	expression.Exp(x, x)
	for i := range panels {
		panels[i].masses(x[order*i:][:order])
	}
}

// at is point j of the rule.
func (p *panel) at(j int) float64 { return p.start + p.width*(1+nodes[j])/2 }

// rates turns the values of b at the points into φ′ = 2b/σ², and those of σ into |σ|. sign says
// whether σ is negative.
func (p *panel) rates(b, s []float64, sign bool) {
	for j, drift := range b {
		noise := s[j]
		rate := 2 * (drift / noise) / noise
		if !(math.Abs(rate) < maxRate) || noise == 0 || math.IsInf(noise, 0) || (noise < 0) != sign {
			p.bad, p.overflow = true, math.IsInf(drift, 0) || math.IsInf(noise, 0)
			return
		}
		b[j], s[j] = rate, math.Abs(noise)
	}
}

// phases integrates the rates φ′ to log p, and writes it to dst relative to the largest value.
// logSigma is log |σ|.
func (p *panel) phases(dst []float64, rate *[order]float64, logSigma []float64) {
	if p.bad {
		return
	}
	half := p.width / 2
	p.change, p.top = 0, math.Inf(-1)
	var last [2]float64
	for j, f := range rate {
		p.change += half * weights[j] * f
		last[0] += legendre[0][j] * f
		last[1] += legendre[1][j] * f
	}
	p.phase = half*(math.Abs(last[0])+math.Abs(last[1])) <= p.within(p.change)
	falls, rises := slices.Max(rate[:]) <= 0, slices.Min(rate[:]) >= 0
	for j := range p.logs {
		// Integrate from the end where φ is higher: at the other it may be so low that
		// nothing is left of smaller terms.
		row := &antiderivative[j]
		if p.change > 0 {
			row = &remainder[j]
		}
		var phi float64
		for k, f := range rate {
			phi += row[k] * f
		}
		phi *= half
		if falls || rises { // where the rule is far from converged, φ may not be monotone
			phi = min(phi, 0)
		}
		p.logs[j] = phi - 2*logSigma[j]
		p.top = max(p.top, p.logs[j])
	}
	for j, l := range p.logs {
		dst[j] = l - p.top
	}
}

// smooth is the part of the mass that the last two terms of its Legendre series, the sixth and the
// seventh, may have for the rule to be exact to double precision: its error is that of the terms
// from the sixteenth on. Up to a point inside the panel the error is that of the eighth.
const smooth = 1e-6

// masses integrates p, given at the points relative to its largest value there.
func (p *panel) masses(pdf []float64) {
	if p.bad {
		return
	}
	var mass float64
	var last [2]float64
	for j, v := range pdf {
		mass += weights[j] * v
		last[0] += legendre[0][j] * v
		last[1] += legendre[1][j] * v
	}
	p.logMass = p.top + math.Log(mass*p.width/2)
	p.mass = max(math.Abs(last[0]), math.Abs(last[1])) <= smooth*mass && p.spread() <= maxPhase
}

// compare says of a panel whether its φ and its mass are those of its halves.
func (p *panel) compare(left, right *panel) {
	change := left.change + right.change
	within := p.within(change)
	p.phase = math.Abs(change-p.change) <= within
	mass := logAdd(max(left.change, 0)+left.logMass, left.change+max(right.change, 0)+right.logMass)
	p.mass = math.Abs(mass-max(p.change, 0)-p.logMass) <= within && p.spread() <= maxPhase
}

// within is the error of a change of φ that is settled.
func (p *panel) within(change float64) float64 {
	rounding := 8 * 0x1p-52 * math.Abs(p.start) / p.width // of x, beside a panel
	return (settled + rounding) * (1 + math.Abs(change))
}

// spread is the range of log p over the points.
func (p *panel) spread() float64 { return p.top - slices.Min(p.logs[:]) }
