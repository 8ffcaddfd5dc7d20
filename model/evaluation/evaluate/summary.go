package evaluate

import (
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/evaluation/bootstrap"
)

// Summary summarises a row over its functions.
type Summary struct {
	Sinkhorn          Statistic `json:"sinkhorn,omitzero"`
	SinkhornConverged Statistic `json:"sinkhorn_converged,omitzero"`
	Residual          float64   `json:"residual,omitzero"` // the largest
	W2                Statistic `json:"w2,omitzero"`
	// Where there is an exact law: W2 and Sinkhorn over the functions whose
	// reference has mixed, and over the others.
	W2Mixed         Statistic `json:"w2_mixed,omitzero"`
	W2Unmixed       Statistic `json:"w2_unmixed,omitzero"`
	SinkhornMixed   Statistic `json:"sinkhorn_mixed,omitzero"`
	SinkhornUnmixed Statistic `json:"sinkhorn_unmixed,omitzero"`
	W2Exact         Statistic `json:"w2_exact,omitzero"`
	SlicedW2        Statistic `json:"sliced_w2,omitzero"`
	Energy          Statistic `json:"energy_distance,omitzero"`
	MarginalW2      Statistic `json:"marginal_w2,omitzero"`
	WorstMarginalW2 Statistic `json:"worst_marginal_w2,omitzero"`
	KS              Statistic `json:"ks,omitzero"`
	// One dimension: fraction of functions with p < 0.05, as if draws were independent, and
	// with the effective sizes of chains; the latter is null where it is not known.
	KSRejected          float64   `json:"ks_rejected"`
	KSEffectiveRejected *float64  `json:"ks_effective_rejected,omitempty"`
	VarianceRatio       Statistic `json:"variance_ratio"`
	// Observables are of particles alone.
	Observables *ObservableSummary `json:"observables,omitempty"`
}

// Statistic describes a number over functions. The intervals are 95 % bootstraps
// over functions (package bootstrap), or over equations where several functions are
// of one (ResamplingUnits): BCa of the mean, percentiles of the median. They are null
// for fewer than two of them, and where all have the same value: none of 8 functions
// does not mean none of all.
type Statistic struct {
	Mean           float64     `json:"mean"`
	StdErr         float64     `json:"std_err"` // of the mean; 0 for fewer than two equations
	MeanInterval   *[2]float64 `json:"mean_interval,omitempty"`
	Median         float64     `json:"median"`
	MedianInterval *[2]float64 `json:"median_interval,omitempty"`
}

// describe computes mean, standard error, median and their intervals; units as in
// package bootstrap. No values give zeros.
func describe(values []float64, units []int) Statistic {
	n := float64(len(values))
	if n == 0 {
		return Statistic{}
	}
	var s Statistic
	for _, v := range values {
		s.Mean += v / n
	}
	s.Median = median(values)
	about, err := bootstrap.Mean(values, units, 0)
	s.StdErr, s.MeanInterval = about.StdErr, ends(about, err)
	s.MedianInterval = ends(bootstrap.Median(values, units, 0))
	return s
}

// ResamplingUnits gives the equation of every function, nil where each function is an
// equation of its own. An equation at several physical times was held out once, so a
// resample takes its functions together.
func ResamplingUnits(f family.Family, functions []FunctionResult) []int {
	timed, ok := f.(family.Timed)
	if !ok {
		return nil
	}
	units, seen := make([]int, len(functions)), map[int]bool{}
	for i, f := range functions {
		units[i] = timed.Equation(f.Index)
		seen[units[i]] = true
	}
	if len(seen) == len(functions) {
		return nil
	}
	return units
}

// ends of an interval, nil where there is none.
func ends(i bootstrap.Interval, err error) *[2]float64 {
	if err != nil || !(i.Low < i.High) {
		return nil
	}
	return &[2]float64{i.Low, i.High}
}

// summarise fills r.Summary from r.Functions of family f. mixed[i] says whether the
// reference of function i is near the exact law, where there is one. Numbers that do
// not exist stay zero.
func (r *Row) summarise(mixed []bool, f family.Family) {
	particles, units, dim := r.Functions[0].Observables != nil, ResamplingUnits(f, r.Functions), f.Dim()
	column := func(exists bool, value func(FunctionResult) float64) Statistic {
		if !exists {
			return Statistic{}
		}
		return describe(r.values(Distance{Of: value}), units)
	}
	r.Summary = Summary{
		Sinkhorn:          column(!particles, Sinkhorn.Of),
		SinkhornConverged: column(!particles && dim <= MaxConvergedDim, func(f FunctionResult) float64 { return f.SinkhornConverged }),
		W2:                column(dim == 1, W2.Of),
		W2Exact:           column(mixed != nil, func(f FunctionResult) float64 { return f.W2Exact }),
		SlicedW2:          column(dim > 1, SlicedW2.Of),
		Energy:            column(dim > 1 && !particles, func(f FunctionResult) float64 { return f.Energy }),
		MarginalW2:        column(dim > 1 && !particles, func(f FunctionResult) float64 { return f.MarginalW2 }),
		WorstMarginalW2:   column(dim > 1 && !particles, func(f FunctionResult) float64 { return f.WorstMarginalW2 }),
		KS:                column(dim == 1, func(f FunctionResult) float64 { return f.KS }),
		VarianceRatio:     column(true, func(f FunctionResult) float64 { return f.VarianceRatio }),
	}
	if mixed != nil {
		r.Summary.SinkhornMixed, r.Summary.SinkhornUnmixed = splitByMixing(r.values(Sinkhorn), mixed)
		r.Summary.W2Mixed, r.Summary.W2Unmixed = splitByMixing(r.values(W2), mixed)
	}
	if particles {
		of := func(value func(Observables) float64) Statistic {
			return column(true, func(f FunctionResult) float64 { return value(*f.Observables) })
		}
		r.Summary.Observables = &ObservableSummary{
			FeatureW2:          of(func(o Observables) float64 { return o.FeatureW2 }),
			RadialError:        of(func(o Observables) float64 { return o.RadialError }),
			MarginalKL:         of(func(o Observables) float64 { return o.MarginalKL }),
			EnergyKS:           of(func(o Observables) float64 { return o.Energy.KS }),
			EnergyMeanRelative: of(func(o Observables) float64 { return o.Energy.RelativeMean }),
			EnergyStdRelative:  of(func(o Observables) float64 { return o.Energy.RelativeStd }),
		}
	}
	for _, f := range r.Functions {
		r.Summary.Residual = max(r.Summary.Residual, f.Residual)
		if f.BelowLevel() {
			r.Summary.KSRejected += 1 / float64(len(r.Functions))
		}
	}
	r.Summary.KSEffectiveRejected = rejected(r.Functions)
}

// rejected is the fraction of functions that KS rejects with the effective sizes of
// chains, nil where that is not known of all.
func rejected(functions []FunctionResult) *float64 {
	count := 0
	for _, f := range functions {
		yes, known := f.Rejected()
		if !known {
			return nil
		}
		if yes {
			count++
		}
	}
	fraction := float64(count) / float64(len(functions))
	return &fraction
}

// splitByMixing describes the values of functions that have mixed, and of the others.
func splitByMixing(values []float64, mixed []bool) (yes, no Statistic) {
	var in, out []float64
	for i, v := range values {
		if mixed[i] {
			in = append(in, v)
		} else {
			out = append(out, v)
		}
	}
	return describe(in, nil), describe(out, nil)
}
