package density

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"github.com/ergoflow/ergoflow/data/equations/expression"
)

// lineQuadrature is the integration of a Line.
type lineQuadrature struct {
	b, sigma       Coefficient
	centre, length float64
	panels         []panel
	sign           bool       // of σ on the given interval: whether it is negative
	finite         [2]bool    // whether the line ends at the left and at the right
	at             [2]float64 // the ends, where it does
}

// resolution is how near panels come to a finite end: nearer, x − end has few digits.
func (q *lineQuadrature) resolution(end float64) float64 {
	return max(closest*q.length, nearestEnd*math.Abs(end))
}

// begin makes the first panels: equal ones on the given interval, growing ones outside, or
// shrinking ones towards an end of the line.
func (q *lineQuadrature) begin(lo, hi float64) error {
	w := q.length / firstPanels
	x, s := []float64{q.centre}, []float64{0}
	q.sigma(s, x)
	q.sign = s[0] < 0
	inside := make([]panel, firstPanels)
	for k := range inside {
		at := lo + q.length*float64(k)/firstPanels
		inside[k] = panel{start: at, width: lo + q.length*float64(k+1)/firstPanels - at}
	}
	q.evaluate(inside)
	for _, p := range inside {
		if p.bad {
			return fmt.Errorf("%w between x = %.6g and %.6g", ErrNoValue, p.start, p.start+p.width)
		}
	}
	var outside [2][]panel
	for side, from := range []float64{lo, hi} {
		direction := float64(2*side - 1)
		outside[side], q.at[side], q.finite[side] = q.outwards(from, direction, w)
	}
	slices.Reverse(outside[0])
	q.panels = slices.Concat(outside[0], inside, outside[1])
	return nil
}

// cut cuts the panels at edges, in increasing order.
func (q *lineQuadrature) cut(edges []float64) {
	if len(edges) == 0 {
		return
	}
	var panels, parts []panel
	var places []int
	for _, p := range q.panels {
		end := p.start + p.width
		for len(edges) > 0 && edges[0] <= p.start {
			edges = edges[1:]
		}
		if len(edges) == 0 || edges[0] >= end {
			panels = append(panels, p)
			continue
		}
		at := p.start
		for len(edges) > 0 && edges[0] < end {
			places, parts = append(places, len(panels)), append(parts, panel{start: at, width: edges[0] - at})
			panels = append(panels, panel{})
			at, edges = edges[0], edges[1:]
		}
		places, parts = append(places, len(panels)), append(parts, panel{start: at, width: end - at})
		panels = append(panels, panel{})
	}
	q.evaluate(parts)
	for i, p := range parts {
		panels[places[i]] = p
	}
	q.panels = panels
}

// outwards makes growing panels from an end of the given interval, as far as there are
// values. finite says that the line ends near by, at end.
func (q *lineQuadrature) outwards(from, direction, width float64) (panels []panel, end float64, finite bool) {
	panels = make([]panel, 0, 128)
	for at, w := 0.0, width; at < farthest*q.length; at, w = at+w, w*growth {
		panels = append(panels, span(from, direction, at, at+w))
	}
	q.evaluate(panels)
	for k, p := range panels {
		if !p.bad {
			continue
		}
		at := math.Abs(p.start - from)
		if direction < 0 {
			at = math.Abs(p.start + p.width - from)
		}
		if p.overflow || at > nearest*q.length { // the line goes on
			return panels[:k], 0, false
		}
		// Find the end, then halve the distance from it again and again.
		good, bad := bisect(func(distance float64) bool { return q.has(from + direction*distance) }, at, at+p.width)
		panels = panels[:k]
		end = from + direction*bad
		if math.Abs(end) < nearestEnd*q.length { // 0 up to the resolution of the end
			end, good = 0, math.Abs(from)
		}
		for distance := good - at; distance > q.resolution(end); distance /= 2 {
			panels = append(panels, span(from, direction, good-distance, good-distance/2))
		}
		q.evaluate(panels[k:])
		return panels, end, true
	}
	return panels, 0, false
}

// span is the panel between two distances from a point.
func span(from, direction, near, far float64) panel {
	a, b := from+direction*near, from+direction*far
	return panel{start: min(a, b), width: math.Abs(b - a)}
}

// has says whether the coefficients have values at x and σ its sign.
func (q *lineQuadrature) has(x float64) bool {
	p := []panel{{start: x}}
	q.evaluate(p)
	return !p[0].bad
}

// phases are φ at the edges of the panels, summed outwards from the panel where p is
// largest, and the largest log p.
func (q *lineQuadrature) phases() (phi []float64, top float64) {
	phi = make([]float64, len(q.panels)+1)
	// Far out φ may be so low that nothing is left of smaller terms: begin inside.
	begin := sort.Search(len(q.panels)-1, func(i int) bool { return q.panels[i+1].start > q.centre })
	q.outward(phi, begin)
	best, highest := begin, math.Inf(-1)
	for i := range q.panels {
		if v := q.high(phi, i) + q.panels[i].top; v > highest {
			best, highest = i, v
		}
	}
	phi[best] = 0
	q.outward(phi, best)
	return phi, q.high(phi, best) + q.panels[best].top
}

// outward sums the changes of φ from edge i to both sides.
func (q *lineQuadrature) outward(phi []float64, i int) {
	for k := i; k < len(q.panels); k++ {
		phi[k+1] = phi[k] + q.panels[k].change
	}
	for k := i; k > 0; k-- {
		phi[k-1] = phi[k] - q.panels[k-1].change
	}
}

// high is φ at the end of panel i where it is higher.
func (q *lineQuadrature) high(phi []float64, i int) float64 { return max(phi[i], phi[i+1]) }

// refine halves panels until their masses, where they matter, and φ between places with
// mass are settled: by the rule itself, or since they do not change any more.
func (q *lineQuadrature) refine() error {
	for {
		phi, top := q.phases()
		matters := func(i int) bool { return q.high(phi, i)+q.panels[i].top > top-relevant }
		first, last := 0, len(q.panels)-1
		for first < last && !matters(first) {
			first++
		}
		for last > first && !matters(last) {
			last--
		}
		var open []int // places of the panels to be compared with their halves
		for i := first; i <= last; i++ {
			if p := &q.panels[i]; !p.phase || !p.mass && matters(i) {
				open = append(open, i)
			}
		}
		if len(open) == 0 {
			return nil
		}
		halves := make([]panel, 0, 2*len(open))
		for _, i := range open {
			p := &q.panels[i]
			half := p.width / 2
			halves = append(halves, panel{start: p.start, width: half}, panel{start: p.start + half, width: half})
		}
		q.evaluate(halves)
		next := make([]panel, 0, len(q.panels)+len(open))
		for k, at := 0, 0; ; k++ {
			if k == len(open) {
				q.panels = append(next, q.panels[at:]...)
				break
			}
			next = append(next, q.panels[at:open[k]]...)
			p, left, right := &q.panels[open[k]], &halves[2*k], &halves[2*k+1]
			at = open[k] + 1
			if left.bad || right.bad || len(next) > linePanels {
				return fmt.Errorf("%w near x = %.6g", ErrTooSteep, p.start)
			}
			p.compare(left, right)
			if p.phase && !matters(open[k]) {
				next = append(next, *p)
				continue
			}
			left.phase, left.mass = left.phase || p.phase, left.mass || p.mass
			right.phase, right.mass = right.phase || p.phase, right.mass || p.mass
			next = append(next, *left, *right)
		}
	}
}

func logAdd(a, b float64) float64 {
	if a < b {
		a, b = b, a
	}
	return a + math.Log1p(math.Exp(b-a))
}

// sum adds the panels, and what is beyond them.
func (q *lineQuadrature) sum() (*Line, error) {
	phi, top := q.phases()
	ends, err := q.ends(phi, top)
	if err != nil {
		return nil, err
	}
	n := len(q.panels)
	l := &Line{Left: ends[0].End, Right: ends[1].End, quadrature: q, phi: phi, edges: make([]float64, n+1), cdf: make([]float64, n+1), pdf: make([]float64, order*n)}
	masses := make([]float64, n)
	for i := range q.panels {
		masses[i] = q.high(phi, i) + q.panels[i].logMass - top
	}
	expression.Exp(masses, masses)
	total := ends[0].mass + ends[1].mass
	for _, m := range masses {
		total += m
	}
	l.edges[0], l.cdf[0] = q.panels[0].start, ends[0].mass/total
	l.logScale = top + math.Log(total)
	for i := range q.panels {
		p, high := &q.panels[i], q.high(phi, i)-l.logScale
		l.edges[i+1], l.cdf[i+1] = p.start+p.width, min(l.cdf[i]+masses[i]/total, 1)
		for j, log := range p.logs {
			l.pdf[order*i+j] = high + log
		}
	}
	expression.Exp(l.pdf, l.pdf)
	q.panels = nil
	for side := range ends {
		l.tails[side] = ends[side].powerTail
		l.tails[side].mass /= total
	}
	l.moments()
	return l, nil
}

// tailSum is an end and the tail there, its mass relative to exp(top).
type tailSum struct {
	End
	powerTail
}

// ends are the left and the right end.
func (q *lineQuadrature) ends(phi []float64, top float64) (ends [2]tailSum, err error) {
	for side := range ends {
		if ends[side], err = q.end(side, phi, top); err != nil {
			return ends, err
		}
	}
	return ends, nil
}

// end extrapolates the density beyond the first or the last panel.
func (q *lineQuadrature) end(side int, phi []float64, top float64) (t tailSum, err error) {
	last, direction := 0, -1
	if side == 1 {
		last, direction = len(q.panels)-1, 1
	}
	// edge returns the outer end of a panel, with φ and log p there.
	edge := func(i int) (x, atPhi, logP float64) {
		p := q.panels[i]
		x, atPhi = p.start, phi[i]
		if side == 1 {
			x, atPhi = p.start+p.width, phi[i+1]
		}
		s := []float64{0}
		q.sigma(s, []float64{x})
		return x, atPhi, atPhi - 2*math.Log(math.Abs(s[0])) - top
	}
	x, f, logP := edge(last)
	if q.finite[side] {
		at, near := q.at[side], q.resolution(q.at[side])
		inner := last
		for math.Abs(q.panels[inner].start-at) < 1e3*near {
			inner -= direction
		}
		y, _, before := edge(inner)
		t.At, t.Decay = at, math.Inf(1)
		k := (logP - before) / math.Log((x-at)/(y-at))
		if k <= borderline-1 {
			return t, fmt.Errorf("%w: the density goes as |x − %.6g|^%.3g near x = %.6g", ErrNotNormalisable, at, k, at)
		}
		d := math.Abs(x - at)
		t.powerTail = powerTail{mass: math.Exp(logP) * d / (k + 1), from: at, distance: d, power: k}
		return t, nil
	}
	t.At = math.Inf(direction)
	d := math.Abs(x - q.centre)
	inner := last
	for math.Abs(q.panels[inner].start-q.centre) > d/32 {
		inner -= direction
	}
	y, g, before := edge(inner)
	powers := math.Log(d / math.Abs(y-q.centre))
	t.Decay = -(logP - before) / powers
	switch {
	case t.Decay < -mostPower:
		return t, fmt.Errorf("%w: X goes to %g", ErrNotNormalisable, t.At)
	case !(t.Decay > 1+borderline):
		return t, fmt.Errorf("%w: the density falls no faster than 1/|x| towards %g", ErrNotNormalisable, t.At)
	case (f-g)/powers > 1+borderline: // the scale function ∫ exp(−φ) dx converges
		return t, fmt.Errorf("%w: X goes to %g", ErrNotNormalisable, t.At)
	}
	nearer := inner
	for nearer-direction >= 0 && nearer-direction < len(q.panels) && math.Abs(q.panels[nearer].start-q.centre) > d/1024 {
		nearer -= direction
	}
	z, _, first := edge(nearer)
	distances := [3]float64{d, math.Abs(y - q.centre), math.Abs(z - q.centre)}
	t.Exponent = exponent(distances, (logP-before)/(before-first))
	nearby := -(before - first) / math.Log(distances[1]/distances[2])
	t.Steepens = t.Exponent == 0 && t.Decay-nearby > steepens*t.Decay
	t.powerTail = powerTail{mass: math.Exp(logP) * d / (t.Decay - 1), from: q.centre, distance: d, power: -t.Decay}
	return t, nil
}

// exponent is γ of log p ~ −|x|^γ, from three distances and the ratio of the changes of log p
// between them; 0 for a power of x.
func exponent(distances [3]float64, ratio float64) float64 {
	if !(ratio > 0) || math.IsInf(ratio, 0) { // p rises, and then falls from a peak
		return math.Inf(1)
	}
	farther, nearer := math.Log(distances[0]/distances[1]), math.Log(distances[1]/distances[2])
	// The ratio is (d₀^γ − d₁^γ)/(d₁^γ − d₂^γ), about (d₀/d₁)^γ.
	gamma := math.Log(ratio) / farther
	if gamma < 0.05 {
		return 0
	}
	for range 20 {
		gamma = (math.Log(ratio) + math.Log(-math.Expm1(-gamma*nearer)) - math.Log(-math.Expm1(-gamma*farther))) / farther
	}
	if !(gamma <= mostExponent) {
		return math.Inf(1)
	}
	return gamma
}
