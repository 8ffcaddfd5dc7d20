package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/metrics"
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

// judge computes every distance of a row's samples. Functions are judged one
// after the other: the Sinkhorn divergence uses all cores itself.
func judge(ctx context.Context, v experiment.Evaluation, functions []function, samples [][]float32, progress func(done, total int)) ([]Function, error) {
	judged := make([]Function, len(functions))
	for i, f := range functions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		var err error
		if judged[i], err = distances(v, f, samples[i]); err != nil {
			return nil, fmt.Errorf("function %d: %w", f.index, err)
		}
		progress(i+1, len(functions))
	}
	return judged, nil
}

// distances of x [n, d] from the reference and the exact law of f.
func distances(v experiment.Evaluation, f function, x []float32) (Function, error) {
	d, dim := Function{Index: f.index}, f.function.System.Dim()
	ours := cloud(x, dim)
	var err error
	if d.Sinkhorn, err = f.measured.Sinkhorn(ours, metrics.Options{Blur: v.Blur, Scaling: v.Scaling}); err != nil {
		return d, err
	}
	if dim <= MaxConvergedDim {
		converged, err := f.measured.SinkhornConverged(ours, metrics.ConvergedOptions{Blur: v.Blur, Tolerance: tolerance, MaxIterations: maxIterations})
		if err != nil {
			return d, err
		}
		d.SinkhornConverged, d.Residual = converged.Value, converged.Residual
	}
	if dim == 1 {
		err = d.onTheLine(f, x)
	} else {
		d.SlicedW2, err = metrics.SlicedW2(ours, cloud(f.reference, dim), directions, 0)
	}
	if err != nil {
		return d, err
	}
	_, covariance := moments(x, dim)
	_, target := moments(f.reference, dim)
	if trace(target) == 0 {
		return d, errors.New("all reference samples are equal")
	}
	d.VarianceRatio = trace(covariance) / trace(target)
	return d, nil
}

// onTheLine computes what only one dimension has.
func (d *Function) onTheLine(f function, x []float32) (err error) {
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
