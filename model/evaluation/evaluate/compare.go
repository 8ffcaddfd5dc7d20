package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// The converged divergence stops at a residual of tolerance (L1 violation of a
// marginal), whose effect on the value is of second order, or after maxIterations.
// The table's notes give the largest residual.
const (
	tolerance     = 1e-4
	maxIterations = 200
)

// MaxConvergedDim is the largest dimension with a converged divergence. In many
// dimensions all points are far apart against any useful blur and the plan is
// nearly a permutation, which the iterations approach too slowly: between two
// sets of 512 normal points in 64 dimensions the residual is 0.09 after 200.
const MaxConvergedDim = 3

// directions of the sliced W2, the same for all functions and runs.
const directions = 256

// comparison has the distances of a row.
type comparison struct {
	functions []FunctionResult
	observed  []*observables.Observed // of particles; without their features
}

// compare computes every distance of a row's samples. It takes one function at a
// time, since the distances themselves use all cores.
func compare(ctx context.Context, v experiment.Evaluation, functions []heldOutFunction, samples [][]float32, progress func(done, total int)) (comparison, error) {
	c := comparison{make([]FunctionResult, len(functions)), make([]*observables.Observed, len(functions))}
	for i, f := range functions {
		if err := ctx.Err(); err != nil {
			return c, err
		}
		var err error
		if c.functions[i], c.observed[i], err = distances(v, f, samples[i]); err != nil {
			return c, fmt.Errorf("function %d: %w", f.index, err)
		}
		progress(i+1, len(functions))
	}
	return c, nil
}

// distances are those of x [n, d] from the reference and from the exact law of f, in the
// frame of f, with the observables of x where f has particles.
//
// Particles have no Sinkhorn divergence. Points in 64 dimensions are so far apart
// that the plan at any useful blur is a matching of points, whose cost comes from
// their small number. Two sets of 4,096 from N(0,I) are at 37 of 64 = E½|x−y|².
func distances(v experiment.Evaluation, f heldOutFunction, x []float32) (d FunctionResult, observed *observables.Observed, err error) {
	d.Index, d.Component, d.Time = f.index, f.component, f.time
	dim := f.pointDim()
	ours := cloud(points(f.function.System, f.frame, x), dim)
	if f.potential != nil {
		if d.Observables, observed, err = f.observables(x); err != nil {
			return d, nil, err
		}
	} else if err := d.divergences(v, f, ours); err != nil {
		return d, nil, err
	}
	if dim == 1 {
		err = d.onTheLine(f, ours.X, x)
	} else {
		err = d.inSpace(f, ours)
	}
	if err != nil {
		return d, nil, err
	}
	_, covariance := moments(ours.X, dim)
	_, target := moments(f.compared, dim)
	if trace(target) == 0 {
		return d, nil, errors.New("all reference samples are equal")
	}
	d.VarianceRatio = trace(covariance) / trace(target)
	return d, observed, nil
}

// divergences computes both Sinkhorn divergences.
func (d *FunctionResult) divergences(v experiment.Evaluation, f heldOutFunction, x metrics.Cloud) (err error) {
	if d.Sinkhorn, err = f.measured.Sinkhorn(x, metrics.Options{Blur: v.Blur, Scaling: v.Scaling}); err != nil {
		return err
	}
	if x.D > MaxConvergedDim {
		return nil
	}
	converged, err := f.measured.SinkhornConverged(x, metrics.ConvergedOptions{Blur: v.Blur, Tolerance: tolerance, MaxIterations: maxIterations})
	d.SinkhornConverged, d.Residual = converged.Value, converged.Residual
	return err
}

// inSpace computes the distances that exist in more dimensions alone. Coordinates of
// particles are no marginals: their law has its own distance (Observables).
func (d *FunctionResult) inSpace(f heldOutFunction, ours metrics.Cloud) (err error) {
	reference := cloud(f.compared, ours.D)
	sliced, err := metrics.OverDirections(ours, reference, directions, 0)
	d.SlicedW2 = sliced.W2
	if err != nil || f.potential != nil {
		return err
	}
	d.Energy = sliced.Energy
	marginals, err := metrics.MarginalW2(ours, reference)
	for _, w2 := range marginals {
		d.MarginalW2 += w2 / float64(ours.D)
		d.WorstMarginalW2 = max(d.WorstMarginalW2, w2)
	}
	return err
}

// onTheLine computes the distances that exist in one dimension alone, of samples x that are
// compared in the function's frame.
func (d *FunctionResult) onTheLine(f heldOutFunction, compared, x []float32) (err error) {
	if d.W2, err = metrics.W2(compared, f.compared); err != nil {
		return err
	}
	if d.KS, d.KSP, err = metrics.KS(compared, f.compared); err != nil {
		return err
	}
	d.KSP = max(d.KSP, math.SmallestNonzeroFloat64) // underflow: JSON leaves out a zero
	if f.law != nil {
		d.W2Exact = f.w2Exact(x)
	}
	return nil
}
