package studies

import (
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// Metric is a number of a row: one per function, summarised over functions, or one
// for the row as a whole. Either PerFunction or PerRow is set.
type Metric struct {
	Key         string // in JSON
	Name        string
	PerFunction func(evaluate.FunctionResult) float64
	PerRow      func(Outcome, evaluate.Row) float64
	// Time marks a wall time, for which the first seed stands for all: it is a property
	// of the machine, not of the seed, and other seeds may have shared the machine.
	Time bool
	// Among, if not nil, selects the functions that are summarised.
	Among func(Outcome, []evaluate.FunctionResult) []evaluate.FunctionResult
}

// Outcome is one evaluation, with what is known of the training of its state.
type Outcome struct {
	Results      *evaluate.Results
	TrainSeconds float64 // wall time of the training; 0: unknown
	LastLoss     float64 // mean of the last tenth of its steps, at most 250
}

// Metrics of the tables. Divergences are in units of x², W2 in units of x.
var (
	sinkhorn  = Metric{Key: "sinkhorn", Name: "Sinkhorn", PerFunction: func(f evaluate.FunctionResult) float64 { return f.Sinkhorn }}
	converged = Metric{Key: "sinkhorn_converged", Name: "Sinkhorn converged", PerFunction: func(f evaluate.FunctionResult) float64 { return f.SinkhornConverged }}
	w2        = Metric{Key: "w2", Name: "W2", PerFunction: func(f evaluate.FunctionResult) float64 { return f.W2 }}
	w2Exact   = Metric{Key: "w2_exact", Name: "W2 to the exact law", PerFunction: func(f evaluate.FunctionResult) float64 { return f.W2Exact }}
	variance  = Metric{Key: "variance_ratio", Name: "variance ratio", PerFunction: func(f evaluate.FunctionResult) float64 { return f.VarianceRatio }}
	rejected  = Metric{Key: "ks_rejected", Name: "KS p < 5 %", PerFunction: func(f evaluate.FunctionResult) float64 {
		if f.BelowLevel() { // published results know no effective sizes
			return 1
		}
		return 0
	}}
	// Wall time of all samples of all functions: seconds with loading and compiling, as
	// the paper counts it; solveSeconds without.
	seconds      = Metric{Key: "seconds", Name: "time (s)", Time: true, PerRow: func(_ Outcome, r evaluate.Row) float64 { return r.SetupSeconds + r.SolveSeconds }}
	solveSeconds = Metric{Key: "solve_seconds", Name: "solve (s)", Time: true, PerRow: func(_ Outcome, r evaluate.Row) float64 { return r.SolveSeconds }}
	steps        = Metric{Key: "simulated_steps", Name: "simulated steps per function", PerRow: func(_ Outcome, r evaluate.Row) float64 { return float64(r.SimulatedSteps) }}
	sequential   = Metric{Key: "sequential_steps", Name: "sequential steps per sample", PerRow: func(_ Outcome, r evaluate.Row) float64 { return float64(r.SequentialSteps) }}
	trainSeconds = Metric{Key: "train_seconds", Name: "training (s)", Time: true, PerRow: training(func(o Outcome) float64 { return o.TrainSeconds })}
	updates      = Metric{Key: "updates", Name: "updates", PerRow: training(func(o Outcome) float64 { return float64(o.Results.Step) })}
	lastLoss     = Metric{Key: "last_loss", Name: "loss", PerRow: training(func(o Outcome) float64 { return o.LastLoss })}
)

// training is a metric of rows that depend on the trained state, 0 for others.
func training(of func(Outcome) float64) func(Outcome, evaluate.Row) float64 {
	return func(o Outcome, r evaluate.Row) float64 {
		if !slices.Contains(OfTrainedState, r.Kind) {
			return 0
		}
		return of(o)
	}
}

// Metrics of particles, per function and pooled over all states of all functions.
// Feature distances are in standard deviations of the function's reference, errors of
// g(r) in √x, divergences in nats; energies of functions are relative.
var (
	features        = Metric{Key: "feature_w2", Name: "feature distance", PerFunction: observable(func(o evaluate.Observables) float64 { return o.FeatureW2 })}
	radial          = Metric{Key: "radial_error", Name: "g(r) L² error", PerFunction: observable(func(o evaluate.Observables) float64 { return o.RadialError })}
	marginal        = Metric{Key: "marginal_kl", Name: "marginal KL", PerFunction: observable(func(o evaluate.Observables) float64 { return o.MarginalKL })}
	energyKS        = Metric{Key: "energy_ks", Name: "energy KS", PerFunction: observable(func(o evaluate.Observables) float64 { return o.Energy.KS })}
	slicedW2        = Metric{Key: "sliced_w2", Name: "sliced W2 of coordinates", PerFunction: func(f evaluate.FunctionResult) float64 { return f.SlicedW2 }}
	radialPooled    = Metric{Key: "radial_error_pooled", Name: "g(r) L² error, pooled", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.RadialError })}
	marginalPooled  = Metric{Key: "marginal_kl_pooled", Name: "marginal KL, pooled", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.MarginalKL })}
	energyKSPooled  = Metric{Key: "energy_ks_pooled", Name: "energy KS, pooled", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.KS })}
	energyMean      = Metric{Key: "energy_mean", Name: "mean energy", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.Model.Mean })}
	energyMeanRef   = Metric{Key: "energy_mean_reference", Name: "of the reference", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.Target.Mean })}
	energyMeanOff   = Metric{Key: "energy_mean_relative", Name: "mean energy, relative error", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.RelativeMean })}
	energyMeanShift = Metric{Key: "energy_mean_shift", Name: "mean energy, error in std of the reference", PerRow: pooled(func(a evaluate.PooledObservables) float64 {
		return (a.Energy.Model.Mean - a.Energy.Target.Mean) / a.Energy.Target.Std
	})}
	energyStd    = Metric{Key: "energy_std", Name: "energy std", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.Model.Std })}
	energyStdRef = Metric{Key: "energy_std_reference", Name: "of the reference", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.Target.Std })}
	energyStdOff = Metric{Key: "energy_std_relative", Name: "energy std, relative error", PerRow: pooled(func(a evaluate.PooledObservables) float64 { return a.Energy.RelativeStd })}
)

func observable(of func(evaluate.Observables) float64) func(evaluate.FunctionResult) float64 {
	return func(f evaluate.FunctionResult) float64 { return of(*f.Observables) }
}

// pooled is a metric of all states at once; zero, which counts as missing, for a row
// without observables.
func pooled(of func(evaluate.PooledObservables) float64) func(Outcome, evaluate.Row) float64 {
	return func(_ Outcome, r evaluate.Row) float64 {
		if r.Summary.Observables == nil {
			return 0
		}
		return of(r.Summary.Observables.Pooled)
	}
}

// mixed is the metric over the functions whose reference has mixed.
func mixed(m Metric) Metric {
	m.Key, m.Name = m.Key+"_mixed", m.Name+", mixed,"
	m.Among = func(o Outcome, all []evaluate.FunctionResult) []evaluate.FunctionResult {
		return o.Results.WhereMixed(all, true)
	}
	return m
}

// unmixed is the metric over the other functions.
func unmixed(m Metric) Metric {
	m.Key, m.Name = m.Key+"_unmixed", m.Name+", others,"
	m.Among = func(o Outcome, all []evaluate.FunctionResult) []evaluate.FunctionResult {
		return o.Results.WhereMixed(all, false)
	}
	return m
}

// Aggregate says how the numbers of all functions become one.
type Aggregate string

// Aggregates over functions.
const (
	Mean   Aggregate = "mean"
	Median Aggregate = "median"
	// Closer is the fraction of functions for which the table's base row has the
	// smaller number. All rows have the same functions.
	Closer Aggregate = "closer"
	// Excess is the mean difference from the base row, function by function.
	Excess Aggregate = "excess"
	None   Aggregate = "" // for numbers per row
)

// Of summarises values; there must be at least one.
func (s Aggregate) Of(values []float64) float64 {
	if s == Median {
		sorted := slices.Sorted(slices.Values(values))
		return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	}
	var sum float64
	for _, v := range values {
		sum += v
	}
	return sum / float64(len(values))
}

// Values has the metric of every function, or the one of the row; none where it is
// unknown.
func (m Metric) Values(o Outcome, r evaluate.Row) []float64 {
	if m.PerRow != nil {
		if v := m.PerRow(o, r); v != 0 {
			return []float64{v}
		}
		return nil
	}
	functions := m.FunctionsOf(o, r)
	values := make([]float64, len(functions))
	for i, f := range functions {
		values[i] = m.PerFunction(f)
	}
	return values
}

// FunctionsOf has the functions of the row that are summarised; none for a metric of
// the row as a whole.
func (m Metric) FunctionsOf(o Outcome, r evaluate.Row) []evaluate.FunctionResult {
	switch {
	case m.PerRow != nil:
		return nil
	case m.Among != nil:
		return m.Among(o, r.Functions)
	}
	return r.Functions
}

// OfTrainedState has the kinds of rows that depend on the trained state, and so on the
// seed. All others need one seed.
var OfTrainedState = []evaluate.Kind{evaluate.Model, evaluate.Shuffled, evaluate.Longest}
