package metrics

import (
	"sync"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics/softmin"
)

// dual is one of the four potentials of the debiased problem: its values at the
// points of to, in the measure's order. An update is the softmin of source's
// values, at the points of from; in a self problem source is the dual itself.
type dual struct {
	value, next []float64
	to, from    *softmin.Measure
	source      *dual
}

// potentials are the four of the debiased problem: fBA and fAA at the points of
// α, gAB and gBB at those of β.
type potentials struct {
	fBA, gAB, fAA, gBB dual
	softmins           softmin.Evaluator
	transforms         []softmin.Transform
}

// newPotentials starts at zero. The clouds have passed validatePair; diameter is
// their joint one.
func newPotentials(x Cloud, r *Reference, diameter float64) *potentials {
	var group sync.WaitGroup
	if r.measure == nil {
		group.Go(func() { r.measure = newMeasure(r.cloud) })
	}
	a := newMeasure(x)
	group.Wait()
	b := r.measure
	p := &potentials{softmins: softmin.Evaluator{Diameter: diameter}}
	between := func(to, from *softmin.Measure, source *dual) dual {
		return dual{value: make([]float64, to.Len()), next: make([]float64, to.Len()), to: to, from: from, source: source}
	}
	p.fBA, p.gAB = between(a, b, &p.gAB), between(b, a, &p.fBA)
	p.fAA, p.gBB = between(a, a, &p.fAA), between(b, b, &p.gBB)
	return p
}

func newMeasure(c Cloud) *softmin.Measure { return softmin.NewMeasure(c.N, c.D, c.X) }

// anneal moves duals, which are zero, to the softmin of zero at the first
// temperature, and then halfway to their softmin at each.
func (p *potentials) anneal(schedule []float64, moving ...*dual) {
	p.update(schedule[0], 1, moving...)
	for _, eps := range schedule {
		p.update(eps, 0.5, moving...)
	}
}

// update moves duals a part of the way to their softmin, all at once.
func (p *potentials) update(eps, part float64, moving ...*dual) {
	p.evaluate(eps, moving...)
	for _, d := range moving {
		move(d.value, d.next, part)
	}
}

// evaluate sets next of each dual to the softmin of its source.
func (p *potentials) evaluate(eps float64, duals ...*dual) {
	p.transforms = p.transforms[:0]
	for _, d := range duals {
		p.transforms = append(p.transforms, softmin.Transform{Dst: d.next, To: d.to, From: d.from, Potential: d.source.value})
	}
	p.softmins.Run(eps, p.transforms...)
}

// divergence is mean(f_βα − f_αα) + mean(g_αβ − g_ββ).
func (p *potentials) divergence() float64 {
	return meanDifference(p.fBA.value, p.fAA.value) + meanDifference(p.gAB.value, p.gBB.value)
}

// move sets x += part (towards − x).
func move(x, towards []float64, part float64) {
	for i, v := range towards {
		x[i] = (1-part)*x[i] + part*v
	}
}

// meanDifference is the mean of a − b. It takes differences first, since they are
// small beside the potentials.
func meanDifference(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v - b[i]
	}
	return sum / float64(len(a))
}
