package metrics

import "fmt"

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
	value, err := sinkhorn(x, y, o)
	if err != nil {
		return 0, fmt.Errorf("sinkhorn divergence: %w", err)
	}
	return value, nil
}

func sinkhorn(x, y Cloud, o Options) (float64, error) {
	o, err := o.withDefaults()
	if err != nil {
		return 0, err
	}
	if err := validatePair(x, y); err != nil {
		return 0, err
	}
	diam := diameter(x, y)
	if diam == 0 {
		return 0, nil
	}
	schedule, err := epsilons(diam, o)
	if err != nil {
		return 0, err
	}
	p := newPotentials(x, y, diam)
	p.softmin.single = true
	p.anneal(schedule)
	p.update(schedule[len(schedule)-1], 1)
	return p.divergence(), nil
}

// potentials are the four dual vectors of the debiased problem, in the order of
// the points of their measures.
type potentials struct {
	a, b               *measure
	fBA, gAB, fAA, gBB []float64
	nextBA, nextAB     []float64
	nextAA, nextBB     []float64
	softmin            softmin
}

// newPotentials takes clouds that are valid and of the same dimension, and their
// joint diameter.
func newPotentials(x, y Cloud, diameter float64) *potentials {
	a, b := newMeasure(x), newMeasure(y)
	p := &potentials{
		a: a, b: b,
		fBA: make([]float64, a.n), nextBA: make([]float64, a.n),
		fAA: make([]float64, a.n), nextAA: make([]float64, a.n),
		gAB: make([]float64, b.n), nextAB: make([]float64, b.n),
		gBB: make([]float64, b.n), nextBB: make([]float64, b.n),
		softmin: softmin{large: flatRatio * diameter * diameter},
	}
	return p
}

// anneal sets the potentials to the softmin of zero at the first temperature
// and then does one half-averaged update at each.
func (p *potentials) anneal(schedule []float64) {
	for _, potential := range [][]float64{p.fBA, p.gAB, p.fAA, p.gBB} {
		clear(potential)
	}
	p.update(schedule[0], 1)
	for _, eps := range schedule {
		p.update(eps, 0.5)
	}
}

// update moves all four potentials a part of the way to their softmin, all from
// the values before.
func (p *potentials) update(eps, part float64) {
	p.softmin.run(eps,
		transform{p.nextBA, p.a, p.b, p.gAB},
		transform{p.nextAB, p.b, p.a, p.fBA},
		transform{p.nextAA, p.a, p.a, p.fAA},
		transform{p.nextBB, p.b, p.b, p.gBB},
	)
	move(p.fBA, p.nextBA, part)
	move(p.gAB, p.nextAB, part)
	move(p.fAA, p.nextAA, part)
	move(p.gBB, p.nextBB, part)
}

// divergence is mean(f_βα − f_αα) + mean(g_αβ − g_ββ).
func (p *potentials) divergence() float64 {
	return meanDifference(p.fBA, p.fAA) + meanDifference(p.gAB, p.gBB)
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
