package evaluate

import (
	"math"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
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

// effectiveSize is how many independent draws that many samples on the line are worth.
func (d diagnosed) effectiveSize(samples int) float64 {
	if len(d) == 0 {
		return float64(samples)
	}
	return metrics.EffectiveSize(d[0], samples)
}

// heedChains computes the p-values of KS for as many draws as a row's samples and the
// reference are worth.
func (m method) heedChains(samples [][]float32, chains []diagnosed, functions []FunctionResult) {
	for i := range functions {
		f, reference := &functions[i], m.against[i]
		points := [2]int{len(samples[i]), len(reference.reference)}
		effective := [2]float64{chains[i].effectiveSize(points[0]), reference.diagnosed.effectiveSize(points[1])}
		p := metrics.KSEffectiveP(f.KS, f.KSP, points, effective)
		f.KSPEffective = max(p, math.SmallestNonzeroFloat64) // underflow: JSON leaves out a zero
	}
}
