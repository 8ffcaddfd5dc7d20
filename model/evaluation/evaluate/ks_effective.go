package evaluate

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/metrics"
)

// referenceChains are how many chains the reference consists of, 0 for independent draws.
// Chains of different lengths count as one: then the order of the samples tells.
func (o Options) referenceChains(f family.Family) int {
	d := o.Experiment.Data
	_, draws := f.(family.Sampler)
	_, timed := f.(family.Timed) // their chains give one sample each
	switch {
	case draws || timed || d.ReferenceDraws == data.Exact:
		return 0
	case o.Experiment.Evaluation.Samples%d.Reference.Chains != 0:
		return 1
	}
	return d.Reference.Chains
}

// effectiveSize is how many independent draws samples on the line are worth.
func effectiveSize(samples []float32, chains int) float64 {
	if chains == 0 {
		return float64(len(samples))
	}
	return metrics.EffectiveSize(samples, chains)
}

// heedChains computes the p-values of KS for as many draws as a row's samples and the
// reference are worth.
func (m method) heedChains(ctx context.Context, samples [][]float32, functions []FunctionResult) error {
	return simulate.Each(ctx, len(functions), func(_ context.Context, i int) error {
		f, x := &functions[i], samples[i]
		points := [2]int{len(x), len(m.against[i].reference)}
		p := metrics.KSEffectiveP(f.KS, f.KSP, points, [2]float64{effectiveSize(x, m.chains), m.against[i].worth})
		f.KSPEffective = max(p, math.SmallestNonzeroFloat64) // underflow: JSON leaves out a zero
		return nil
	}, nil)
}
