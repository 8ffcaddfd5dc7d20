package evaluate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ReferenceLaw says how far simulated references are from the laws in the plane, by the
// Fokker–Planck equation: by the mass of the half-plane or quadrant for which the difference is largest,
// less the error of the law.
type ReferenceLaw struct {
	Resolved int     `json:"resolved"` // functions whose law is known
	Off      int     `json:"off"`      // those of which the reference is off by more than mostOff, and beyond chance
	Median   float64 `json:"median"`   // of the differences
	Largest  float64 `json:"largest"`
}

// mostOff is the difference that a reference may have: the certificate's bound.
const mostOff = 0.05

// referenceLaw compares the references with the laws. It is nil beyond the plane, where the references are draws
// from the laws, and where no law is known.
func (o Options) referenceLaw(ctx context.Context, f family.Family, functions []heldOutFunction) (*ReferenceLaw, error) {
	if f.Dim() != 2 || o.Experiment.Data.ReferenceDraws == data.Exact || !family.HasExactDraws(f) {
		return nil, nil
	}
	differences := make([]float64, len(functions)) // NaN: not known
	err := simulate.Each(ctx, len(functions), func(_ context.Context, i int) error {
		differences[i] = math.NaN()
		law, err := family.PlaneLaw(functions[i].function.System)
		switch {
		case errors.Is(err, fokkerplanck.ErrUnresolved):
			return nil
		case err != nil:
			return fmt.Errorf("law of function %d: %w", functions[i].index, err)
		}
		differences[i] = max(law.From(functions[i].reference).Gap()-law.Error, 0)
		return nil
	}, nil)
	if err != nil {
		return nil, err
	}
	var r ReferenceLaw
	var known []float64
	for i, d := range differences {
		if math.IsNaN(d) {
			continue
		}
		known = append(known, d)
		worth := float64(len(functions[i].reference) / f.Dim())
		if ess := functions[i].diagnosed.worst().ESS; ess < worth {
			worth = ess
		}
		if d > mostOff && math.Sqrt(worth)*d > fokkerplanck.Chance {
			r.Off++
		}
		r.Largest = max(r.Largest, d)
	}
	if r.Resolved = len(known); r.Resolved == 0 {
		return nil, nil
	}
	r.Median = median(known)
	return &r, nil
}

// note says it in a sentence.
func (r ReferenceLaw) note(functions int) string {
	said := fmt.Sprintf("no reference is off beyond chance and beyond %g", mostOff)
	if r.Off > 0 {
		said = fmt.Sprintf("the references of %d are off beyond chance and beyond %g, so they are not of the law", r.Off, mostOff)
	}
	return fmt.Sprintf("Beside the laws by the Fokker–Planck equation, which are known for %d of %d functions, %s. The mass of a half-plane or a quadrant differs by up to %s in the median over functions, and by %s at most.",
		r.Resolved, functions, said, significant(r.Median), significant(r.Largest))
}
