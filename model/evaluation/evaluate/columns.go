package evaluate

import (
	"fmt"
	"slices"
)

// section is a group of columns with the cells that it has for a row.
type section struct {
	name    string
	columns []string
	cells   func(row Row) []string
}

// sectionList collects the columns of a table, and beside them the paper's numbers.
type sectionList struct {
	*Results
	paper []PaperRow
	all   []section
}

// sections are the columns whose numbers exist, each beside the paper's where it
// prints any for the experiment.
func (r *Results) sections() []section {
	s := sectionList{Results: r, paper: Paper(r.Experiment)}
	line := r.Dim <= 1
	switch {
	case hasObservables(r.Rows):
		s.addObservables()
	case r.Dim <= MaxConvergedDim:
		s.addSinkhorn()
		s.addCloser()
	}
	if line {
		s.add("W2", leading, statistic(func(s Summary) Statistic { return s.W2 }, meanIntervalMedian))
		s.addPaper(plain, meanAndMedian, W2Mean, W2Median)
	} else {
		s.add("sliced W2", leading, statistic(func(s Summary) Statistic { return s.SlicedW2 }, meanIntervalMedian))
	}
	if r.hasMarginals() {
		s.add("energy distance", meanAndMedian, statistic(func(s Summary) Statistic { return s.Energy }, meanMedian))
		s.add("marginal W2", []string{"mean", "worst"}, func(row Row) []string {
			return []string{significant(row.Summary.MarginalW2.Mean), significant(row.Summary.WorstMarginalW2.Mean)}
		})
	}
	if r.Dim > MaxConvergedDim && !hasObservables(r.Rows) {
		s.addCloser()
		s.addSinkhorn()
	}
	s.addPhysicalTimes()
	s.add("time (s)", []string{"set-up", "solve"}, func(row Row) []string {
		return []string{seconds(row.SetupSeconds), seconds(row.SolveSeconds)}
	})
	s.addPaper(plain, []string{"time (s)"}, Seconds)
	s.addMixing()
	if !hasObservables(r.Rows) && r.Dim <= MaxConvergedDim {
		s.add("Sinkhorn converged", meanAndMedian, statistic(func(s Summary) Statistic { return s.SinkhornConverged }, meanMedian))
	}
	if len(r.ReferenceToExact) > 0 {
		s.add("W2 to exact law", meanAndMedian, statistic(func(s Summary) Statistic { return s.W2Exact }, meanMedian))
	}
	if line {
		s.addKS(r.heedsChains())
	}
	s.add("variance", []string{"ratio"}, func(row Row) []string { return []string{fmt.Sprintf("%.2f", row.Summary.VarianceRatio.Median)} })
	return s.all
}

// hasMarginals reports whether rows have distances of marginals: results of builds before
// these distances have none.
func (r *Results) hasMarginals() bool {
	return slices.ContainsFunc(r.Rows, func(row Row) bool { return row.Summary.MarginalW2.Mean > 0 })
}

// Columns of a leading distance, and of others.
var (
	leading       = []string{"mean", "95 %", "median"}
	meanAndMedian = []string{"mean", "median"}
)

func (s *sectionList) add(name string, columns []string, cells func(row Row) []string) {
	s.all = append(s.all, section{name, columns, cells})
}

// addKS adds the share of functions that KS rejects, or, where effective sizes are not
// known, the share whose p would be below 5 % if draws were independent.
func (s *sectionList) addKS(heedsChains bool) {
	percent := func(v float64) []string { return []string{fmt.Sprintf("%.0f %%", 100*v)} }
	if heedsChains {
		s.add("KS", []string{"rejected"}, func(row Row) []string { return percent(*row.Summary.KSEffectiveRejected) })
		return
	}
	s.add("KS", []string{"p < 5 %"}, func(row Row) []string { return percent(row.Summary.KSRejected) })
}

// addPaper adds a column for each of the quantities of which the paper prints any
// number.
func (s *sectionList) addPaper(format func(float64) string, columns []string, quantities ...Quantity) {
	var names []string
	var printed []Quantity
	for i, q := range quantities {
		if slices.ContainsFunc(s.paper, func(p PaperRow) bool { _, ok := p.Numbers[q]; return ok }) {
			names, printed = append(names, columns[i]), append(printed, q)
		}
	}
	if len(printed) == 0 {
		return
	}
	s.add("paper", names, func(row Row) []string {
		cells := make([]string, len(printed))
		for i, q := range printed {
			cells[i] = "–"
			if v, ok := PaperNumber(s.paper, row.Kind, row.Name, q); ok {
				cells[i] = format(v)
			}
		}
		return cells
	})
}

// addCloser adds the number of functions for which the model is closer to the
// reference than the row, where there is a model.
func (s *sectionList) addCloser() {
	if _, ok := s.Row(Model); !ok {
		return
	}
	s.add("model", []string{"closer"}, func(row Row) []string {
		if row.ModelCloser == nil {
			return []string{"–"}
		}
		return []string{fmt.Sprintf("%d/%d", *row.ModelCloser, len(row.Functions))}
	})
}

func (s *sectionList) addSinkhorn() {
	s.add("Sinkhorn", leading, statistic(func(s Summary) Statistic { return s.Sinkhorn }, meanIntervalMedian))
	s.addPaper(plain, meanAndMedian, SinkhornMean, SinkhornMedian)
}

// addObservables adds the columns of particles.
func (s *sectionList) addObservables() {
	add := func(name string, columns []string, cells func(o ObservableSummary) []string) {
		s.add(name, columns, func(row Row) []string { return cells(row.Summary.observables()) })
	}
	add("feature distance", leading, func(o ObservableSummary) []string { return meanIntervalMedian(o.FeatureW2) })
	s.addPaper(plain, meanAndMedian, FeatureMean, FeatureMedian)
	s.addCloser()
	s.addPaper(ofHundred, []string{"closer"}, FeatureCloser)
	add("g(r), L² error", []string{"mean", "median", "pooled"}, func(o ObservableSummary) []string {
		return append(meanMedian(o.RadialError), significant(o.Pooled.RadialError))
	})
	s.addPaper(plain, []string{""}, RadialMean)
	add("marginal KL", []string{"mean", "median", "pooled"}, func(o ObservableSummary) []string {
		return append(meanMedian(o.MarginalKL), significant(o.Pooled.MarginalKL))
	})
	s.addPaper(plain, []string{""}, MarginalMean)
	add("energy KS", []string{"mean", "pooled"}, func(o ObservableSummary) []string {
		return []string{significant(o.EnergyKS.Mean), significant(o.Pooled.Energy.KS)}
	})
	s.addPaper(plain, []string{""}, EnergyKSPooled)
	add("energy, pooled", []string{"mean", "off by", "std", "off by"}, func(o ObservableSummary) []string {
		e := o.Pooled.Energy
		return []string{significant(e.Model.Mean), percent(e.RelativeMean), significant(e.Model.Std), percent(e.RelativeStd)}
	})
	s.addPaper(percent, []string{"mean off by", "std off by"}, EnergyMeanOffBy, EnergyStdOffBy)
	add("energy, per function", []string{"mean off by", "std off by"}, func(o ObservableSummary) []string {
		return []string{percent(o.EnergyMeanRelative.Median), percent(o.EnergyStdRelative.Median)}
	})
}

// addPhysicalTimes adds the means of both distances by physical time, for families
// that have it.
func (s *sectionList) addPhysicalTimes() {
	if len(s.Rows) == 0 || len(s.Rows[0].Times) == 0 {
		return
	}
	var columns []string
	for _, t := range s.Rows[0].Times {
		columns = append(columns, fmt.Sprintf("%.2g–%.2g", t.From, t.To))
	}
	for _, d := range []struct {
		name string
		of   func(TimeInterval) Statistic
	}{
		{"Sinkhorn, mean at physical times", func(t TimeInterval) Statistic { return t.Sinkhorn }},
		{"W2, mean at physical times", func(t TimeInterval) Statistic { return t.W2 }},
	} {
		s.add(d.name, columns, func(row Row) []string {
			var cells []string
			for _, t := range row.Times {
				cells = append(cells, significant(d.of(t).Mean))
			}
			return cells
		})
	}
}

// addMixing adds both distances over the functions whose reference has mixed, and
// over the others, where there is an exact law to tell them apart.
func (s *sectionList) addMixing() {
	if len(s.ReferenceToExact) == 0 {
		return
	}
	some, others := s.mixed() > 0, s.mixed() < s.Functions
	for _, d := range []struct {
		name           string
		mixed, unmixed func(Summary) Statistic
	}{
		{"Sinkhorn", func(s Summary) Statistic { return s.SinkhornMixed }, func(s Summary) Statistic { return s.SinkhornUnmixed }},
		{"W2", func(s Summary) Statistic { return s.W2Mixed }, func(s Summary) Statistic { return s.W2Unmixed }},
	} {
		if some {
			s.add(d.name+", mixed", meanAndMedian, statistic(d.mixed, meanMedian))
		}
		if others {
			s.add(d.name+", others", meanAndMedian, statistic(d.unmixed, meanMedian))
		}
	}
}

// statistic writes one number of a row's summary.
func statistic(of func(Summary) Statistic, write func(Statistic) []string) func(row Row) []string {
	return func(row Row) []string { return write(of(row.Summary)) }
}

func meanMedian(s Statistic) []string { return []string{significant(s.Mean), significant(s.Median)} }

func meanIntervalMedian(s Statistic) []string {
	return []string{significant(s.Mean), between(s.MeanInterval), significant(s.Median)}
}

// ofHundred is a fraction of the paper's 100 test functions.
func ofHundred(v float64) string { return fmt.Sprintf("%.0f/100", 100*v) }
