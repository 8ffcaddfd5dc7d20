package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/model/metrics"
)

// function is one held-out SDE with what its rows are compared with.
type function struct {
	index        int // within the experiment
	coefficients sde.Coefficients
	reference    []float32
	measured     *metrics.Reference // the same, with the self terms that rows share
	law          family.Law
}

// heldOut reads the evaluated functions from the held-out shard, making it
// first if the store lacks it.
func heldOut(ctx context.Context, o Options, f family.Family, progress func(done, total int)) ([]function, error) {
	e, d := o.Experiment, o.Experiment.Data
	if err := data.Generate(ctx, d, d.HeldOutShard(), o.Store, o.Simulator, progress); err != nil {
		return nil, fmt.Errorf("held-out functions: %w", err)
	}
	s, err := o.Store.Open(d.Hash(), d.HeldOutShard())
	if err != nil {
		return nil, fmt.Errorf("held-out functions: %w", err)
	}
	defer s.Close()
	first, _ := d.ShardRange(d.HeldOutShard())
	functions := make([]function, e.Evaluation.Functions)
	for i := range functions {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		law, err := f.Law(d.Seed, first+i)
		if err != nil {
			return nil, fmt.Errorf("exact law of function %d: %w", first+i, err)
		}
		reference := spread(s.Samples(i), e.Evaluation.Samples)
		functions[i] = function{
			index: first + i,
			coefficients: sde.Coefficients{
				Grid:      f.Grid(),
				Drift:     slices.Clone(s.Drift(i)), // the mapping ends with this call
				Diffusion: slices.Clone(s.Diffusion(i)),
			},
			reference: reference,
			measured:  metrics.NewReference(metrics.Line(reference)),
			law:       law,
		}
	}
	return functions, nil
}

// spread copies n of the stored samples at even distances, so that a part of
// them still comes from all chains.
func spread(stored []float32, n int) []float32 {
	part := make([]float32, n)
	for i := range part {
		part[i] = stored[i*len(stored)/n]
	}
	return part
}

// w2Exact is the W2 distance of samples from a law, with the quantile function
// at the midpoints of n equal parts:
//
//	W2² ≈ (1/n) Σ_i (x_(i) − Q((i+½)/n))².
func w2Exact(samples []float32, law family.Law) float64 {
	sorted := slices.Clone(samples)
	slices.Sort(sorted)
	n := float64(len(sorted))
	var sum float64
	for i, x := range sorted {
		d := float64(x) - law.Quantile((float64(i)+0.5)/n)
		sum += d * d
	}
	return math.Sqrt(sum / n)
}

// moments are the mean and the (biased) variance of samples.
func moments(samples []float32) (mean, variance float64) {
	n := float64(len(samples))
	for _, x := range samples {
		mean += float64(x) / n
	}
	for _, x := range samples {
		d := float64(x) - mean
		variance += d * d / n
	}
	return mean, variance
}
