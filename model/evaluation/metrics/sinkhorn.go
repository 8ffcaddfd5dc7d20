package metrics

import "sync"

// Sinkhorn is the debiased Sinkhorn divergence between two clouds of equally
// weighted points, with cost ½|x−y|² and temperature ε = Blur²,
//
//	S = OT_ε(α,β) − ½ OT_ε(α,α) − ½ OT_ε(β,β),
//
// as GeomLoss's SamplesLoss("sinkhorn", p=2) computes it: ε falls from the
// squared diameter to Blur² by Scaling² (see epsilons), each temperature gets
// one simultaneous update of all four potentials that is averaged with the
// value before, and one last update is not averaged. With
//
//	softmin(ε, g)(x) = −ε log (1/M) Σ_j exp((g_j − ½|x−y_j|²)/ε),
//
// S = mean(f_βα − f_αα) + mean(g_αβ − g_ββ). This stops before convergence,
// and the value depends on Scaling: it is the number that the literature
// reports. SinkhornConverged goes on.
//
// The unit is that of the coordinates, squared. Time is quadratic in the number
// of points at worst, memory is linear. Clouds whose points all coincide are at
// distance 0 (GeomLoss fails on them).
//
// See J. Feydy, Geometric data analysis, beyond convolutions, 2020, sec. 3.3.3.
func Sinkhorn(x, y Cloud, o Options) (float64, error) {
	return NewReference(y).Sinkhorn(x, o)
}

func (r *Reference) sinkhorn(x Cloud, o Options) (float64, error) {
	o, err := o.withDefaults()
	if err != nil {
		return 0, err
	}
	diam, schedule, err := Schedule(x, r.cloud, o)
	if err != nil || diam == 0 {
		return 0, err
	}
	p := newPotentials(x, r, diam)
	p.softmin.single = true
	moving := []*dual{&p.fBA, &p.gAB, &p.fAA, &p.gBB}
	key := annealing{diam, o}
	if r.annealing == key {
		p.gBB.value = r.annealed
		moving = moving[:3]
	}
	p.anneal(schedule, moving...)
	p.update(schedule[len(schedule)-1], 1, moving...)
	r.annealing, r.annealed = key, p.gBB.value
	return p.divergence(), nil
}

// dual is one of the four dual vectors of the debiased problem, in the order of
// the points of the measure it belongs to: an update is the softmin of the
// values of another, or of its own, on the points of from.
type dual struct {
	value, next []float64
	to, from    *measure
	source      *dual
}

// potentials are the dual vectors: fBA and fAA belong to α, gAB and gBB to β.
type potentials struct {
	fBA, gAB, fAA, gBB dual
	softmin            softmin
	transforms         []transform
}

// newPotentials takes clouds that are valid and of the same dimension, and their
// joint diameter.
func newPotentials(x Cloud, r *Reference, diameter float64) *potentials {
	var group sync.WaitGroup
	if r.measure == nil {
		group.Go(func() { r.measure = newMeasure(r.cloud) })
	}
	a := newMeasure(x)
	group.Wait()
	b := r.measure
	p := &potentials{softmin: softmin{large: flatRatio * diameter * diameter}}
	between := func(to, from *measure, source *dual) dual {
		return dual{value: make([]float64, to.n), next: make([]float64, to.n), to: to, from: from, source: source}
	}
	p.fBA, p.gAB = between(a, b, &p.gAB), between(b, a, &p.fBA)
	p.fAA, p.gBB = between(a, a, &p.fAA), between(b, b, &p.gBB)
	return p
}

// anneal sets duals, all of them zero, to the softmin of zero at the first
// temperature and then does one half-averaged update at each.
func (p *potentials) anneal(schedule []float64, moving ...*dual) {
	p.update(schedule[0], 1, moving...)
	for _, eps := range schedule {
		p.update(eps, 0.5, moving...)
	}
}

// update moves duals a part of the way to their softmin, all from the values
// before.
func (p *potentials) update(eps, part float64, moving ...*dual) {
	p.softmins(eps, moving...)
	for _, d := range moving {
		move(d.value, d.next, part)
	}
}

// softmins computes what duals move to.
func (p *potentials) softmins(eps float64, duals ...*dual) {
	p.transforms = p.transforms[:0]
	for _, d := range duals {
		p.transforms = append(p.transforms, transform{d.next, d.to, d.from, d.source.value})
	}
	p.softmin.run(eps, p.transforms...)
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

// meanDifference is the mean of a − b: differences first, since they are small
// beside the potentials.
func meanDifference(a, b []float64) float64 {
	var sum float64
	for i, v := range a {
		sum += v - b[i]
	}
	return sum / float64(len(a))
}
