package evaluate

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ergoflow/ergoflow/model/evaluation/observables"
)

// section is a group of columns with the cells that it has for a row.
type section struct {
	name    string
	columns []string
	cells   func(row Row) []string
}

// sections are those whose numbers exist, each with the paper's where it prints
// any for the experiment.
func (r *Results) sections() []section {
	particles, line := hasObservables(r.Rows), r.Dim <= 1
	exact, mixed := len(r.ReferenceToExact) > 0, len(r.ReferenceToExact) > 0 && r.mixed() > 0
	unmixed := exact && r.mixed() < r.Functions
	_, hasModel := r.Row(Model)
	var all []section
	add := func(exists bool, name string, columns []string, cells func(row Row) []string) {
		if exists {
			all = append(all, section{name, columns, cells})
		}
	}
	// printed are the paper's numbers of a line, one column for each of the
	// quantities of which it prints any.
	lines := Paper(r.Experiment)
	printed := func(format func(float64) string, columns []string, quantities ...Quantity) {
		var names []string
		var some []Quantity
		for i, q := range quantities {
			if slices.ContainsFunc(lines, func(p PaperRow) bool { _, ok := p.Numbers[q]; return ok }) {
				names, some = append(names, columns[i]), append(some, q)
			}
		}
		add(len(some) > 0, "paper", names, func(row Row) []string {
			cells := make([]string, len(some))
			for i, q := range some {
				cells[i] = "–"
				if v, ok := PaperNumber(lines, row.Kind, row.Name, q); ok {
					cells[i] = format(v)
				}
			}
			return cells
		})
	}
	leading := []string{"mean", "95 %", "median"}
	both := []string{"mean", "median"}
	if particles {
		observables := func(cells func(o ObservableSummary) []string) func(row Row) []string {
			return func(row Row) []string { return cells(row.Summary.observables()) }
		}
		add(true, "feature distance", leading, observables(func(o ObservableSummary) []string { return meanIntervalMedian(o.FeatureW2) }))
		printed(plain, both, FeatureMean, FeatureMedian)
		add(hasModel, "model", []string{"closer"}, r.closer)
		printed(ofHundred, []string{"closer"}, FeatureCloser)
		add(true, "g(r), L² error", []string{"mean", "median", "pooled"}, observables(func(o ObservableSummary) []string {
			return append(meanMedian(o.RadialError), significant(o.Pooled.RadialError))
		}))
		printed(plain, []string{""}, RadialMean)
		add(true, "marginal KL", []string{"mean", "median", "pooled"}, observables(func(o ObservableSummary) []string {
			return append(meanMedian(o.MarginalKL), significant(o.Pooled.MarginalKL))
		}))
		printed(plain, []string{""}, MarginalMean)
		add(true, "energy KS", []string{"mean", "pooled"}, observables(func(o ObservableSummary) []string {
			return []string{significant(o.EnergyKS.Mean), significant(o.Pooled.Energy.KS)}
		}))
		printed(plain, []string{""}, EnergyKSPooled)
		add(true, "energy, pooled", []string{"mean", "off by", "std", "off by"}, observables(func(o ObservableSummary) []string {
			e := o.Pooled.Energy
			return []string{significant(e.Model.Mean), percent(e.RelativeMean), significant(e.Model.Std), percent(e.RelativeStd)}
		}))
		printed(percent, []string{"mean off by", "std off by"}, EnergyMeanOffBy, EnergyStdOffBy)
		add(true, "energy, per function", []string{"mean off by", "std off by"}, observables(func(o ObservableSummary) []string {
			return []string{percent(o.EnergyMeanRelative.Median), percent(o.EnergyStdRelative.Median)}
		}))
	} else {
		add(true, "Sinkhorn", leading, func(row Row) []string { return meanIntervalMedian(row.Summary.Sinkhorn) })
		printed(plain, both, SinkhornMean, SinkhornMedian)
		add(hasModel, "model", []string{"closer"}, r.closer)
	}
	add(line, "W2", leading, func(row Row) []string { return meanIntervalMedian(row.Summary.W2) })
	printed(plain, both, W2Mean, W2Median)
	add(!line, "sliced W2", leading, func(row Row) []string { return meanIntervalMedian(row.Summary.SlicedW2) })
	r.byTime(add)
	add(true, "time (s)", []string{"set-up", "solve"}, func(row Row) []string {
		return []string{seconds(row.SetupSeconds), seconds(row.SolveSeconds)}
	})
	printed(plain, []string{"time (s)"}, Seconds)
	add(mixed, "Sinkhorn, mixed", both, func(row Row) []string { return meanMedian(row.Summary.SinkhornMixed) })
	add(unmixed, "Sinkhorn, others", both, func(row Row) []string { return meanMedian(row.Summary.SinkhornUnmixed) })
	add(mixed, "W2, mixed", both, func(row Row) []string { return meanMedian(row.Summary.W2Mixed) })
	add(unmixed, "W2, others", both, func(row Row) []string { return meanMedian(row.Summary.W2Unmixed) })
	add(!particles && r.Dim <= MaxConvergedDim, "Sinkhorn converged", both, func(row Row) []string { return meanMedian(row.Summary.SinkhornConverged) })
	add(exact, "W2 to exact law", both, func(row Row) []string { return meanMedian(row.Summary.W2Exact) })
	add(line, "KS", []string{"rejected"}, func(row Row) []string { return []string{fmt.Sprintf("%.0f %%", 100*row.Summary.KSRejected)} })
	add(true, "variance", []string{"ratio"}, func(row Row) []string { return []string{fmt.Sprintf("%.2f", row.Summary.VarianceRatio.Median)} })
	return all
}

// byTime adds the means of both distances by physical time, where there are such.
func (r *Results) byTime(add func(exists bool, name string, columns []string, cells func(row Row) []string)) {
	if len(r.Rows) == 0 || len(r.Rows[0].Times) == 0 {
		return
	}
	var columns []string
	for _, t := range r.Rows[0].Times {
		columns = append(columns, fmt.Sprintf("%.2g–%.2g", t.From, t.To))
	}
	for _, d := range []struct {
		name string
		of   func(TimeInterval) Statistic
	}{
		{"Sinkhorn, mean at physical times", func(t TimeInterval) Statistic { return t.Sinkhorn }},
		{"W2, mean at physical times", func(t TimeInterval) Statistic { return t.W2 }},
	} {
		add(true, d.name, columns, func(row Row) []string {
			var cells []string
			for _, t := range row.Times {
				cells = append(cells, significant(d.of(t).Mean))
			}
			return cells
		})
	}
}

// closer is for how many functions the model is closer than the row.
func (r *Results) closer(row Row) []string {
	if row.ModelCloser == nil {
		return []string{"–"}
	}
	return []string{fmt.Sprintf("%d/%d", *row.ModelCloser, len(row.Functions))}
}

func meanMedian(s Statistic) []string { return []string{significant(s.Mean), significant(s.Median)} }

func meanIntervalMedian(s Statistic) []string {
	return []string{significant(s.Mean), between(s.MeanInterval), significant(s.Median)}
}

// ofHundred is a fraction of the paper's 100 test functions.
func ofHundred(v float64) string { return fmt.Sprintf("%.0f/100", 100*v) }

func (r *Results) notes() []string {
	e := r.Experiment
	notes := []string{
		ScaleNote(e),
		fmt.Sprintf("%d held-out functions, %d samples each; %s.", r.Functions, r.Samples, strings.Join(r.meanings(), "; ")),
	}
	if _, ok := r.Row(Model); ok {
		notes = append(notes, fmt.Sprintf("model closer: functions for which the model's %s is smaller than the row's.", r.Distances()[0].Name))
	}
	if len(r.ReferenceToExact) > 0 {
		notes = append(notes, fmt.Sprintf("The reference sets themselves are W2 %s (mean) and %s (median) from the exact law; mixed are the %d of %d functions where that is below %g.",
			significant(r.Reference.Mean), significant(r.Reference.Median), r.mixed(), r.Functions, r.MixedBelow))
	}
	if r.LawUnknown != "" {
		notes = append(notes, fmt.Sprintf("Nothing is compared with exact laws, of which one could not be computed: %s.", r.LawUnknown))
	}
	if e, ok := r.energies(); ok {
		notes = append(notes, fmt.Sprintf("The reference's energies, pooled: %s ± %s; rows are off by so much of these.", significant(e.Mean), significant(e.Std)))
	}
	for _, row := range r.Rows {
		if row.Note != "" {
			notes = append(notes, row.Name+": "+row.Note)
		}
	}
	if len(Paper(e)) > 0 {
		notes = append(notes, "paper: "+PaperSource(e.Name)+".")
	}
	return notes
}

// energies are those of the whole reference of particles.
func (r *Results) energies() (observables.Moments, bool) {
	for _, row := range r.Rows {
		if row.Kind != Split && row.Summary.Observables != nil {
			return row.Summary.Observables.Pooled.Energy.Target, true
		}
	}
	return observables.Moments{}, false
}

// meanings say what the columns are.
func (r *Results) meanings() []string {
	v := r.Experiment.Evaluation
	var all []string
	if hasObservables(r.Rows) {
		all = append(all, fmt.Sprintf("feature distance: sliced W2 of %d permutation-invariant features, in standard deviations of each function's reference, over %d directions", observables.FeatureCount, observables.Directions),
			"pooled: all states of all functions at once; energy per function: median")
	} else {
		converged := ""
		if r.Dim <= MaxConvergedDim {
			converged = fmt.Sprintf(", and converged (largest residual %s)", significant(r.residual()))
		}
		all = append(all, fmt.Sprintf("Sinkhorn divergence with cost ½|x−y|², blur %g, scaling %g%s", v.Blur, v.Scaling, converged))
	}
	all = append(all, "95 %: bootstrap interval of the mean over functions")
	if r.Dim > 1 {
		return append(all, fmt.Sprintf("sliced W2 of coordinates over %d directions", directions), "variance ratio: of the sums of all variances, samples/reference, median")
	}
	return append(all, "KS at 5 %", "variance ratio: samples/reference, median")
}

func (r *Results) residual() float64 {
	worst := 0.0
	for _, row := range r.Rows {
		worst = max(worst, row.Summary.Residual)
	}
	return worst
}
