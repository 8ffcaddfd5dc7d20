package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// notes are the sentences below a table: its scale, what its columns and rows are,
// and what is good.
func (r *Results) notes() []string {
	e := r.Experiment
	notes := []string{
		ScaleNote(e),
		fmt.Sprintf("%d held-out functions, %d samples each.", r.Functions, r.Samples),
	}
	notes = append(notes, r.familyNotes()...)
	if len(r.Units) > 0 {
		notes = append(notes, r.unitsNote())
	}
	notes = append(notes, r.meanings()...)
	if _, ok := r.Row(Floor); ok {
		notes = append(notes, "Distances and errors: lower is better; the floor is the best possible.")
	}
	if _, ok := r.Row(Model); ok {
		notes = append(notes, fmt.Sprintf("model closer: the number of functions for which the model's %s is smaller than this row's.", r.Distances()[0].Name))
	}
	if len(r.ReferenceToExact) > 0 {
		notes = append(notes, fmt.Sprintf("The reference sets are W2 %s (mean) and %s (median) from the exact law. mixed: the %d of %d functions where that is below %g, so that the chains count as mixed; others: the rest.",
			significant(r.Reference.Mean), significant(r.Reference.Median), r.mixed(), r.Functions, r.MixedBelow))
	}
	if m := r.ReferenceMixing; m != nil {
		notes = append(notes, m.note("the reference", r.Functions, r.Samples))
	}
	if l := r.ReferenceLaw; l != nil {
		notes = append(notes, l.note(r.Functions))
	}
	if e := r.ReferenceEnergy; e != nil {
		notes = append(notes, e.note(r.Functions))
	}
	if r.LawUnknown != "" {
		notes = append(notes, fmt.Sprintf("No comparison with exact laws, since one could not be computed: %s.", r.LawUnknown))
	}
	if e, ok := r.energies(); ok {
		notes = append(notes, fmt.Sprintf("Energies of the reference, pooled: %s ± %s; off by: relative to these.", significant(e.Mean), significant(e.Std)))
	}
	for _, row := range r.Rows {
		if row.Note != "" {
			notes = append(notes, row.Name+": "+row.Note)
		}
		if m := row.Mixing; m != nil {
			notes = append(notes, m.note(row.Name, r.Functions, r.Samples))
		}
		if row.Verdicts != nil {
			notes = append(notes, row.Verdicts.note(row.Name))
		}
		if len(row.Calibration) > 0 {
			notes = append(notes, row.calibrationNote())
		}
	}
	if len(Paper(e)) > 0 {
		notes = append(notes, "paper: "+PaperSource(e.Name)+".")
	}
	return notes
}

// unitsNote names the unit of all distances, for standardised states.
func (r *Results) unitsNote() string {
	var units []string
	for _, u := range r.Units {
		units = append(units, significant(u))
	}
	if r.Dim > 2 { // all the same
		units = units[:1]
	}
	of := "training"
	if r.TrainedOn != "" {
		of = "held-out"
	}
	return fmt.Sprintf("Distances, blur and the bound of mixed are in units of the %s samples' standard deviation along each axis: %s.", of, strings.Join(units, " and "))
}

// energies are the pooled energies of the reference, for particles.
func (r *Results) energies() (observables.Moments, bool) {
	for _, row := range r.Rows {
		if row.Kind != Split && row.Summary.Observables != nil {
			return row.Summary.Observables.Pooled.Energy.Target, true
		}
	}
	return observables.Moments{}, false
}

// meanings define the columns, a sentence each.
func (r *Results) meanings() []string {
	v := r.Experiment.Evaluation
	var all []string
	if hasObservables(r.Rows) {
		all = append(all, fmt.Sprintf("feature distance: sliced W2 of %d permutation-invariant features, in standard deviations of each function's reference, over %d directions.", observables.FeatureCount, observables.Directions),
			"pooled: all states of all functions at once; energy, per function: median over functions.")
	} else {
		all = append(all, fmt.Sprintf("Sinkhorn: divergence with cost ½|x−y|² and blur %g, annealed with scaling %g.", v.Blur, v.Scaling))
		if r.Dim <= MaxConvergedDim {
			all = append(all, fmt.Sprintf("Sinkhorn converged: the same, iterated until it converges (largest residual %s).", significant(r.residual())))
		}
	}
	all = append(all, "95 %: bootstrap interval of the mean over functions.")
	if r.Dim > 1 {
		all = append(all, fmt.Sprintf("sliced W2: of the coordinates, over %d directions.", directions))
		if r.hasMarginals() {
			all = append(all, "energy distance: 2E|X−Y| − E|X−X′| − E|Y−Y′|. marginal W2: of each coordinate; mean over coordinates, and the worst coordinate, both as means over functions.")
		}
		return append(all, "variance ratio: sum of all variances, samples/reference, median (best: 1).")
	}
	ks := "KS p < 5 %: functions for which p of the Kolmogorov–Smirnov test against the reference is below 5 %, draws taken as independent. Those of chains are not, and their p is too small: compare with the floor."
	if r.heedsChains() {
		ks = "KS rejected: functions whose samples the Kolmogorov–Smirnov test distinguishes from the reference at the 5 % level. Chains count as the independent draws that they are worth (ESS)."
	}
	return append(all, ks, "variance ratio: samples/reference, median (best: 1).")
}

// heedsChains reports whether effective sizes of all rows are known.
func (r *Results) heedsChains() bool {
	return !slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Summary.KSEffectiveRejected == nil })
}

// residual is the largest of all rows.
func (r *Results) residual() float64 {
	worst := 0.0
	for _, row := range r.Rows {
		worst = max(worst, row.Summary.Residual)
	}
	return worst
}
