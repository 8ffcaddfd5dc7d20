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
	Unmixed  int     `json:"unmixed"`             // functions whose chains have not mixed
	TooShort int     `json:"too_short,omitempty"` // functions whose chains have too few samples to show that
	RHat     float64 `json:"rhat"`                // the largest; at most MaxFloat64
	ESS      float64 `json:"ess"`                 // median over the functions of the smaller of bulk and tail
	LeastESS float64 `json:"least_ess"`           // the smallest of these
}

// diagnosed has the diagnostics of a function's chains, of each coordinate.
type diagnosed []diagnostics.Result

// diagnose takes samples [chains, n, dim] of every function; observed are the observables of
// particles. Without chains every function has none.
func diagnose(ctx context.Context, samples [][]float32, observed []*observables.Observed, chains, dim int) ([]diagnosed, error) {
	all := make([]diagnosed, len(samples))
	if chains == 0 {
		return all, nil
	}
	return all, simulate.Each(ctx, len(samples), func(_ context.Context, i int) error {
		if observed[i] != nil {
			all[i] = diagnosed{diagnostics.Of(observed[i].Energies, chains)}
			return nil
		}
		axis := make([]float32, len(samples[i])/dim)
		for k := range dim {
			for j := range axis {
				axis[j] = samples[i][j*dim+k]
			}
			all[i] = append(all[i], diagnostics.Of(axis, chains))
		}
		return nil
	}, nil)
}

// referenceMixing is of the reference. It is nil where that does not consist of chains in
// equilibrium of equally many samples.
func (o Options) referenceMixing(f family.Family, functions []heldOutFunction) *Mixing {
	if o.referenceChains(f) != o.Experiment.Data.Reference.Chains {
		return nil
	}
	all := make([]diagnosed, len(functions))
	for i, f := range functions {
		all[i] = f.diagnosed
	}
	return mixing(all)
}

// mixing is of the chains of all functions. It is nil where they are too short to tell.
func mixing(functions []diagnosed) *Mixing {
	total := Mixing{LeastESS: math.Inf(1)}
	ess := make([]float64, len(functions))
	for i, f := range functions {
		r := f.worst()
		if math.IsNaN(r.ESS) {
			return nil
		}
		total.Unmixed += r.Unmixed
		total.TooShort += r.TooShort
		total.RHat = max(total.RHat, r.RHat)
		total.LeastESS = min(total.LeastESS, r.ESS)
		ess[i] = r.ESS
	}
	total.ESS = median(ess)
	return &total
}

// worst is the mixing of one function over its coordinates.
func (d diagnosed) worst() Mixing {
	m := Mixing{ESS: math.Inf(1)}
	for _, r := range d {
		if !r.Mixed() {
			m.Unmixed = 1
		}
		if r.TooShort() {
			m.TooShort = 1
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
	if m.TooShort > 0 {
		said += fmt.Sprintf("; the chains of %d of %d functions have too few samples to show whether they have mixed", m.TooShort, functions)
	}
	return said + "."
}
