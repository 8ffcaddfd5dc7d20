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

// The converged divergence stops at this residual (L1 violation of a marginal),
// whose effect on the value is of second order, or after so many iterations;
// the table says the largest residual.
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

// comparison is what judge found of a row.
type comparison struct {
	functions []FunctionResult
	seen      []*observables.Observed // of particles; without their features
}

// judge computes every distance of a row's samples. Functions are judged one
// after the other: the distances use all cores themselves.
func compare(ctx context.Context, v experiment.Evaluation, functions []heldOutFunction, samples [][]float32, progress func(done, total int)) (comparison, error) {
	j := comparison{make([]FunctionResult, len(functions)), make([]*observables.Observed, len(functions))}
	for i, f := range functions {
		if err := ctx.Err(); err != nil {
			return j, err
		}
		var err error
		if j.functions[i], j.seen[i], err = distances(v, f, samples[i]); err != nil {
			return j, fmt.Errorf("function %d: %w", f.index, err)
		}
		progress(i+1, len(functions))
	}
	return j, nil
}

// distances of x [n, d] from the reference and the exact law of f, and what was
// seen of its particles.
//
// Particles have no Sinkhorn divergence: points in 64 dimensions are so far apart
// that the plan at any useful blur is a matching of points and its cost that of
// having few of them. Two sets of 4,096 from N(0,I) are at 37 of 64 = E½|x−y|².
func distances(v experiment.Evaluation, f heldOutFunction, x []float32) (d FunctionResult, seen *observables.Observed, err error) {
	d.Index, d.Time = f.index, f.time
	dim := f.function.System.Dim()
	ours := cloud(x, dim)
	if f.potential != nil {
		if d.Observables, seen, err = f.observables(x); err != nil {
			return d, nil, err
		}
	} else if err := d.divergences(v, f, ours); err != nil {
		return d, nil, err
	}
	if dim == 1 {
		err = d.onTheLine(f, x)
	} else {
		d.SlicedW2, err = metrics.SlicedW2(ours, cloud(f.reference, dim), directions, 0)
	}
	if err != nil {
		return d, nil, err
	}
	_, covariance := moments(x, dim)
	_, target := moments(f.reference, dim)
	if trace(target) == 0 {
		return d, nil, errors.New("all reference samples are equal")
	}
	d.VarianceRatio = trace(covariance) / trace(target)
	return d, seen, nil
}

// divergences computes those of Sinkhorn.
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

// onTheLine computes what only one dimension has.
func (d *FunctionResult) onTheLine(f heldOutFunction, x []float32) (err error) {
	if d.W2, err = metrics.W2(x, f.reference); err != nil {
		return err
	}
	if d.KS, d.KSP, err = metrics.KS(x, f.reference); err != nil {
		return err
	}
	d.KSP = max(d.KSP, math.SmallestNonzeroFloat64) // underflow: zero would say that there is none
	if f.law != nil {
		d.W2Exact = w2Exact(x, f.law)
	}
	return nil
}
