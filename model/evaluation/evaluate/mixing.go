package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// Mixing tells from the chains alone, without an exact law, whether they have mixed (package
// diagnostics). It is of each coordinate, and the worst counts. Of particles, which may
// change places, it is of their energies.
type Mixing struct {
	Unmixed  int     `json:"unmixed"`   // functions whose chains have not mixed
	RHat     float64 `json:"rhat"`      // the largest; at most MaxFloat64
	ESS      float64 `json:"ess"`       // median over the functions of the smaller of bulk and tail
	LeastESS float64 `json:"least_ess"` // the smallest of these
}

// referenceMixing is of the reference. It is nil where that does not consist of chains in
// equilibrium of equally many samples.
func (o Options) referenceMixing(ctx context.Context, f family.Family, functions []heldOutFunction) (*Mixing, error) {
	chains := o.referenceChains(f)
	if chains != o.Experiment.Data.Reference.Chains {
		return nil, nil
	}
	samples, observed := make([][]float32, len(functions)), make([]*observables.Observed, len(functions))
	for i, f := range functions {
		samples[i], observed[i] = f.reference, f.observed
	}
	return mixing(ctx, samples, observed, chains, f.Dim())
}

// mixing is of samples [chains, n, dim] of every function; observed are the observables of
// particles. It is nil where chains are too short to tell.
func mixing(ctx context.Context, samples [][]float32, observed []*observables.Observed, chains, dim int) (*Mixing, error) {
	results := make([]Mixing, len(samples))
	err := simulate.Each(ctx, len(samples), func(_ context.Context, i int) error {
		if observed[i] != nil {
			results[i] = worst(observed[i].Energies, chains, 1)
		} else {
			results[i] = worst(samples[i], chains, dim)
		}
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	total := Mixing{LeastESS: math.Inf(1)}
	ess := make([]float64, len(results))
	for i, r := range results {
		if math.IsNaN(r.ESS) {
			return nil, nil
		}
		total.Unmixed += r.Unmixed
		total.RHat = max(total.RHat, r.RHat)
		total.LeastESS = min(total.LeastESS, r.ESS)
		ess[i] = r.ESS
	}
	total.ESS = median(ess)
	return &total, nil
}

// worst is the mixing of one function over its coordinates.
func worst(samples []float32, chains, dim int) Mixing {
	m := Mixing{ESS: math.Inf(1)}
	axis := make([]float32, len(samples)/dim)
	for k := range dim {
		for i := range axis {
			axis[i] = samples[i*dim+k]
		}
		r := diagnostics.Of(axis, chains)
		if !r.Mixed() {
			m.Unmixed = 1
		}
		if !math.IsNaN(r.RHat) {
			m.RHat = max(m.RHat, min(r.RHat, math.MaxFloat64))
		}
		m.ESS = min(m.ESS, r.ESSBulk, r.ESSTail)
	}
	return m
}

func median(values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}

// note says it in a sentence, of the chains of a row or of the reference.
func (m *Mixing) note(of string, functions, samples int) string {
	rhat := fmt.Sprintf("%.3g", m.RHat)
	if m.RHat == math.MaxFloat64 { // chains do not move, but differ
		rhat = "∞"
	}
	said := fmt.Sprintf("Chains of %s: R-hat is at most %s; the %d samples are worth %.0f independent draws (ESS, median over functions)", of, rhat, samples, m.ESS)
	if m.Unmixed > 0 {
		said += fmt.Sprintf("; by R-hat the chains of %d of %d functions have not mixed, so their samples are not of the law", m.Unmixed, functions)
	}
	return said + "."
}
