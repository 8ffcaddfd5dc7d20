package metrics

// Sinkhorn is the debiased Sinkhorn divergence between two clouds of equally
// weighted points, with cost ½|x−y|² and temperature ε = Blur²,
//
//	S = OT_ε(α,β) − ½ OT_ε(α,α) − ½ OT_ε(β,β),
//
// as GeomLoss's SamplesLoss("sinkhorn", p=2) computes it. ε falls from the
// squared diameter to Blur² in steps of Scaling² (see epsilons). At each ε, all
// four potentials move halfway to their softmin at once; at the end they move
// there in full. With
//
//	softmin(ε, g)(x) = −ε log (1/M) Σ_j exp((g_j − ½|x−y_j|²)/ε),
//
// S = mean(f_βα − f_αα) + mean(g_αβ − g_ββ). The schedule stops before
// convergence, so the value depends on Scaling; it is the number that the
// literature reports. SinkhornConverged iterates to the fixed point.
//
// The unit is that of the coordinates, squared. Time is at worst quadratic in
// the number of points, memory is linear: package softmin computes the softmins,
// and its path.go chooses the fast path of each. Clouds whose points all coincide
// are at distance 0 (GeomLoss fails on them).
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
	p.softmins.Float32 = true
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
