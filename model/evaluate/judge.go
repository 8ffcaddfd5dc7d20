package evaluate

import (
	"context"
	"errors"
	"fmt"

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

// distances of x from the reference and the exact law of f.
func distances(v experiment.Evaluation, f function, x []float32) (Function, error) {
	d := Function{Index: f.index}
	ours := metrics.Line(x)
	var err error
	if d.Sinkhorn, err = f.measured.Sinkhorn(ours, metrics.Options{Blur: v.Blur, Scaling: v.Scaling}); err != nil {
		return d, err
	}
	converged, err := f.measured.SinkhornConverged(ours, metrics.ConvergedOptions{Blur: v.Blur, Tolerance: tolerance, MaxIterations: maxIterations})
	if err != nil {
		return d, err
	}
	d.SinkhornConverged, d.Residual = converged.Value, converged.Residual
	if d.W2, err = metrics.W2(x, f.reference); err != nil {
		return d, err
	}
	if d.KS, d.KSP, err = metrics.KS(x, f.reference); err != nil {
		return d, err
	}
	_, variance := moments(x)
	_, target := moments(f.reference)
	if target == 0 {
		return d, errors.New("all reference samples are equal")
	}
	d.VarianceRatio = variance / target
	d.W2Exact = w2Exact(x, f.law)
	return d, nil
}
