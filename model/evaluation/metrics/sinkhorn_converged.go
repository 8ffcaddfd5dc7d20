package metrics

import (
	"fmt"
	"math"
)

// ConvergedOptions are the options of SinkhornConverged; the zero value has the
// defaults.
type ConvergedOptions struct {
	Blur          float64 // σ, the root of ε, in the unit of the coordinates; 0 means 0.05
	Tolerance     float64 // residual at which the iteration ends; 0 means 1e-4
	MaxIterations int     // for each of the three problems; 0 means 500
}

// Converged is the result of SinkhornConverged.
type Converged struct {
	Value      float64 // S, in the unit of the coordinates squared
	Residual   float64 // largest L1 violation of a marginal, 0 to 2: see SinkhornConverged
	Iterations int     // of the cross problem
	Converged  bool    // Residual ≤ Tolerance
	FinestBlur float64 // smallest Blur at which float64 resolves a residual of Tolerance
}

// SinkhornConverged is the debiased Sinkhorn divergence at the solution of its
// three entropic problems, so it depends on no schedule. It iterates until the
// residual is at most Tolerance. With the plan
//
//	π_ij = exp((f_i + g_j − ½|x_i−y_j|²)/ε)/(NM),
//
// the residual is the L1 distance Σ_j |Σ_i π_ij − 1/M| of a marginal from the
// uniform one (the other marginal is exact), the largest over the three problems.
// Potentials reach the diameter squared, and rounding moves them by 2⁻⁵³ of that.
// Where diameter² 2⁻⁵³/ε exceeds Tolerance, which is where Blur is below FinestBlur
// = diameter √(2⁻⁵³/Tolerance), the residual is at least that.
//
// The value is a dual objective: its error is of second order in that of the
// potentials, about 1e-5 ε at the default tolerance.
//
// In one dimension the potentials start from the exact duals of the monotone
// coupling plus the self potentials, which carry the −(ε/2) log density of the
// entropic correction. So far modes of unequal mass start balanced; from zero,
// the iteration converges exponentially slowly on them. In more dimensions the
// potentials start from an annealing with scaling 0.9. Anderson's method
// accelerates the iteration. Reaching MaxIterations is no error: Converged is
// then false.
func SinkhornConverged(x, y Cloud, o ConvergedOptions) (Converged, error) {
	return NewReference(y).SinkhornConverged(x, o)
}

func (r *Reference) sinkhornConverged(x Cloud, o ConvergedOptions) (Converged, error) {
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
	if err := validatePair(x, r.cloud); err != nil {
		return Converged{}, err
	}
	diam := diameter(x, r.cloud)
	if diam == 0 {
		return Converged{Converged: true}, nil
	}
	schedule, err := epsilons(diam, anneal)
	if err != nil {
		return Converged{}, err
	}
	eps := schedule[len(schedule)-1]

	p := newPotentials(x, r, diam)
	residual := p.solveSelf(&p.fAA, eps, o)
	key := solution{eps, o.Tolerance, o.MaxIterations, p.softmins.Flat(eps)}
	if r.solution != key {
		r.residual = p.solveSelf(&p.gBB, eps, o)
		r.solution, r.solved = key, p.gBB.value
	} else {
		p.gBB.value = r.solved
	}
	if x.D > 1 {
		p.anneal(schedule, &p.fBA, &p.gAB)
	} else {
		f, g := monotoneDuals(p.fBA.to.Line(), p.gAB.to.Line())
		for i := range f {
			p.fBA.value[i] = f[i] + p.fAA.value[i]
		}
		for j := range g {
			p.gAB.value[j] = g[j] + p.gBB.value[j]
		}
	}
	iterations, cross := p.solveCross(eps, o)
	residual = max(residual, r.residual, cross)
	if unresolved := diam * diam * 0x1p-53 / eps; unresolved > o.Tolerance {
		residual = max(residual, unresolved)
	}
	residual = min(residual, 2) // of two probability vectors
	return Converged{
		Value:      p.divergence(),
		Residual:   residual,
		Iterations: iterations,
		Converged:  residual <= o.Tolerance,
		FinestBlur: diam * math.Sqrt(0x1p-53/o.Tolerance),
	}, nil
}

// solveSelf iterates f ← f + ⅔(softmin(f) − f) on a self problem. The softmin's
// derivative has eigenvalues in [−1, 0], so each iteration divides the error by 3
// at least. The first guess is half the softmin of zero.
func (p *potentials) solveSelf(f *dual, eps float64, o ConvergedOptions) (residual float64) {
	p.update(eps, 0.5, f)
	for i := 1; ; i++ {
		p.evaluate(eps, f)
		residual = violation(f.value, f.next, eps)
		if residual <= o.Tolerance || i >= o.MaxIterations {
			break
		}
		move(f.value, f.next, 2./3)
	}
	toDual(f.value, f.next, eps)
	return residual
}

// toDual shifts a self potential so that its mean is half the dual objective,
// mean(f) − (ε/2)(Σπ − 1). The objective differs from the optimum in second order
// only, the mean itself in first. next is the softmin of f.
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
		p.update(eps, 1, &p.fBA)
		p.evaluate(eps, &p.gAB)
		residual = violation(p.gAB.value, p.gAB.next, eps)
		if residual <= o.Tolerance || iterations >= o.MaxIterations {
			return iterations, residual
		}
		if residual > 2*best { // the acceleration overshot: restart it from a plain step
			accelerated.restart()
			best = math.Inf(1)
		}
		best = min(best, residual)
		accelerated.next(p.gAB.value, p.gAB.next)
	}
}

// violation is the L1 distance of a marginal of the plan from the uniform one;
// next is the softmin, which would make it exact.
func violation(potential, next []float64, eps float64) float64 {
	var sum float64
	for i, v := range potential {
		sum += math.Abs(math.Expm1((v - next[i]) / eps))
	}
	return sum / float64(len(potential))
}
