package metrics

import (
	"fmt"
	"math"
)

// ConvergedOptions of SinkhornConverged. The zero value is usable.
type ConvergedOptions struct {
	Blur          float64 // as in Options; 0 means 0.05
	Tolerance     float64 // largest residual of a converged result; 0 means 1e-4
	MaxIterations int     // of each of the three problems; 0 means 500
}

// Converged is what SinkhornConverged found.
type Converged struct {
	Value      float64 // S, in the unit of the coordinates squared
	Residual   float64 // largest L1 violation of a marginal; see SinkhornConverged
	Iterations int     // of the cross problem, after the initial potentials
	Converged  bool    // Residual ≤ Tolerance
}

// SinkhornConverged is the debiased Sinkhorn divergence of Sinkhorn at the
// solution of the three entropic problems, free of any schedule. It iterates
// until the residual is at most Tolerance: with π_ij = exp((f_i + g_j −
// ½|x_i−y_j|²)/ε)/(NM), the L1 distance Σ_j |Σ_i π_ij − 1/M| of a marginal from
// what it should be (the other marginal is exact), the largest over the three
// problems. The value is a dual objective, so its error is of second order in
// that of the potentials: about 1e-5 ε at the default tolerance.
//
// In one dimension the potentials start from the exact duals of the monotone
// coupling plus the self potentials, which carry the −(ε/2) log density of the
// entropic correction: far modes of unequal mass, on which plain iterations
// converge exponentially slowly, start balanced. In more dimensions they start
// from an annealing with scaling 0.9. The iterations are accelerated
// (anderson). Reaching MaxIterations is not an error: see Converged.
func SinkhornConverged(x, y Cloud, o ConvergedOptions) (Converged, error) {
	c, err := sinkhornConverged(x, y, o)
	if err != nil {
		return Converged{}, fmt.Errorf("converged sinkhorn divergence: %w", err)
	}
	return c, nil
}

func sinkhornConverged(x, y Cloud, o ConvergedOptions) (Converged, error) {
	anneal, err := Options{Blur: o.Blur, Scaling: 0.9}.withDefaults()
	if err != nil {
		return Converged{}, err
	}
	if o.Tolerance == 0 {
		o.Tolerance = 1e-4
	}
	if o.MaxIterations == 0 {
		o.MaxIterations = 500
	}
	if !(o.Tolerance > 0) || o.MaxIterations < 0 {
		return Converged{}, fmt.Errorf("tolerance %g and %d iterations must be positive: %w", o.Tolerance, o.MaxIterations, ErrOption)
	}
	if err := validatePair(x, y); err != nil {
		return Converged{}, err
	}
	diam := diameter(x, y)
	if diam == 0 {
		return Converged{Converged: true}, nil
	}
	schedule, err := epsilons(diam, anneal)
	if err != nil {
		return Converged{}, err
	}
	eps := schedule[len(schedule)-1]

	p := newPotentials(x, y, diam)
	if x.D > 1 {
		p.anneal(schedule)
	}
	self := p.solveSelf(eps, o, x.D == 1)
	if x.D == 1 {
		f, g := monotoneDuals(p.a.x, p.b.x)
		for i := range f {
			p.fBA[i] = f[i] + p.fAA[i]
		}
		for j := range g {
			p.gAB[j] = g[j] + p.gBB[j]
		}
	}
	iterations, cross := p.solveCross(eps, o)
	residual := max(self, cross)
	return Converged{
		Value:      p.divergence(),
		Residual:   residual,
		Iterations: iterations,
		Converged:  residual <= o.Tolerance,
	}, nil
}

// solveSelf iterates f ← f + ⅔(softmin(f) − f) on both self problems. The
// softmin's derivative has eigenvalues in [−1, 0], so the error shrinks by 3 at
// every iteration at least. From zero, half a softmin is the first guess.
func (p *potentials) solveSelf(eps float64, o ConvergedOptions, fromZero bool) (residual float64) {
	run := func() {
		p.softmin.run(eps,
			transform{p.nextAA, p.a, p.a, p.fAA},
			transform{p.nextBB, p.b, p.b, p.gBB})
	}
	if fromZero {
		clear(p.fAA)
		clear(p.gBB)
		run()
		move(p.fAA, p.nextAA, 0.5)
		move(p.gBB, p.nextBB, 0.5)
	}
	for i := 1; ; i++ {
		run()
		residual = max(violation(p.fAA, p.nextAA, eps), violation(p.gBB, p.nextBB, eps))
		if residual <= o.Tolerance || i >= o.MaxIterations {
			break
		}
		move(p.fAA, p.nextAA, 2./3)
		move(p.gBB, p.nextBB, 2./3)
	}
	toDual(p.fAA, p.nextAA, eps)
	toDual(p.gBB, p.nextBB, eps)
	return residual
}

// toDual shifts a self potential so that its mean is half the dual objective,
// mean(f) − (ε/2)(Σπ − 1): that differs from the optimum in second order only,
// the mean itself in first. next is the softmin of f.
func toDual(f, next []float64, eps float64) {
	var excess float64
	for i, v := range f {
		excess += math.Expm1((v - next[i]) / eps)
	}
	shift := 0.5 * eps * excess / float64(len(f))
	for i := range f {
		f[i] -= shift
	}
}

// solveCross iterates g ← softmin(softmin(g)). On return f is the softmin of g.
func (p *potentials) solveCross(eps float64, o ConvergedOptions) (iterations int, residual float64) {
	accelerated := anderson{depth: 8}
	best := math.Inf(1)
	for iterations = 1; ; iterations++ {
		p.softmin.run(eps, transform{p.fBA, p.a, p.b, p.gAB})
		p.softmin.run(eps, transform{p.nextAB, p.b, p.a, p.fBA})
		residual = violation(p.gAB, p.nextAB, eps)
		if residual <= o.Tolerance || iterations >= o.MaxIterations {
			return iterations, residual
		}
		if residual > 2*best { // the acceleration overshot: a plain step, and start again
			accelerated.restart()
			best = math.Inf(1)
		}
		best = min(best, residual)
		accelerated.next(p.gAB, p.nextAB)
	}
}

// violation is the L1 distance of a marginal of the plan from the uniform one,
// where next is the softmin that would make it exact.
func violation(potential, next []float64, eps float64) float64 {
	var sum float64
	for i, v := range potential {
		sum += math.Abs(math.Expm1((v - next[i]) / eps))
	}
	return sum / float64(len(potential))
}
