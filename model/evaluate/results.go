// Package evaluate judges a trained state on functions it has never seen. Every
// row of its table is one way to get samples of each held-out function — the
// model, the same network untrained, a standard normal, a normal with the
// reference's moments, MCMC at a budget, and a second independent reference set
// (the floor: what a perfect sampler scores) — and every column one distance
// between those samples and the reference.
package evaluate

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/experiment"
)

// Kind says what made a row's samples.
type Kind string

const (
	Floor     Kind = "floor"     // a second reference set
	MCMC      Kind = "mcmc"      // Euler–Maruyama at a budget
	Model     Kind = "model"     // the trained state
	Untrained Kind = "untrained" // the same network at its initial parameters
	Moments   Kind = "moments"   // N(m, s²) with the reference's mean and variance
	Normal    Kind = "normal"    // N(0, 1)
)

// Results is one evaluation; its JSON is the result file of a run.
type Results struct {
	Version    string                `json:"version"`
	Experiment experiment.Experiment `json:"experiment"`
	Run        string                `json:"run"`        // hash of the configuration
	Step       int                   `json:"step"`       // updates behind the state
	Parameters string                `json:"parameters"` // hash of the state's parameters
	Backend    string                `json:"backend"`    // what ran the network
	Dim        int                   `json:"dim"`        // numbers of a sample
	Functions  int                   `json:"functions"`
	Samples    int                   `json:"samples"` // per function and row
	Rows       []Row                 `json:"rows"`
	// ReferenceToExact is the W2 distance of each reference set from the exact
	// invariant law: where it is large, the reference's chains have not mixed.
	// Like the next three it is of families with exact laws.
	ReferenceToExact []float64 `json:"reference_to_exact,omitempty"`
	Reference        Statistic `json:"reference,omitzero"` // of ReferenceToExact
	MixedBelow       float64   `json:"mixed_below,omitzero"`
	Mixed            int       `json:"mixed,omitzero"` // functions with ReferenceToExact below it
	Seconds          float64   `json:"seconds"`
}

// Row is one method on every function.
type Row struct {
	Kind      Kind       `json:"kind"`
	Name      string     `json:"name"`
	Note      string     `json:"note,omitempty"`
	Functions []Function `json:"functions"`
	Summary   Summary    `json:"summary"`
	// SetupSeconds is what happens once (loading, compiling); SolveSeconds is
	// the drawing of all samples of all functions. Both are wall time.
	SetupSeconds float64 `json:"setup_seconds"`
	SolveSeconds float64 `json:"solve_seconds"`
	// SimulatedSteps are the Euler–Maruyama steps of one function, over all of
	// its chains; 0 for rows that simulate nothing.
	SimulatedSteps int `json:"simulated_steps"`
	// SequentialSteps follow one another on the way to a sample: steps of a
	// chain, evaluations of the network; 0 for none, or an adaptive solver's.
	SequentialSteps int `json:"sequential_steps"`
}

// Function is one row's samples of one function against its reference. Numbers
// that its dimension does not have are zero, and left out of JSON.
type Function struct {
	Index             int     `json:"index"`                       // within the experiment
	Sinkhorn          float64 `json:"sinkhorn"`                    // annealed as GeomLoss does by default
	SinkhornConverged float64 `json:"sinkhorn_converged,omitzero"` // up to MaxConvergedDim
	Residual          float64 `json:"residual,omitzero"`           // of the converged one: L1 violation of a marginal
	W2                float64 `json:"w2,omitzero"`                 // one dimension; not squared
	SlicedW2          float64 `json:"sliced_w2,omitzero"`          // more dimensions
	KS                float64 `json:"ks,omitzero"`                 // one dimension
	KSP               float64 `json:"ks_p,omitzero"`               // one dimension
	VarianceRatio     float64 `json:"variance_ratio"`              // samples / reference, of the sums of all variances
	W2Exact           float64 `json:"w2_exact,omitzero"`           // one dimension, to the exact invariant law
}

// Summary is a row over its functions.
type Summary struct {
	Sinkhorn          Statistic `json:"sinkhorn"`
	SinkhornConverged Statistic `json:"sinkhorn_converged,omitzero"`
	Residual          float64   `json:"residual,omitzero"` // the largest
	W2                Statistic `json:"w2,omitzero"`
	W2Mixed           Statistic `json:"w2_mixed,omitzero"` // of W2, where the reference has mixed
	W2Exact           Statistic `json:"w2_exact,omitzero"`
	SlicedW2          Statistic `json:"sliced_w2,omitzero"`
	KS                Statistic `json:"ks,omitzero"`
	KSRejected        float64   `json:"ks_rejected"` // one dimension: fraction of functions with p < 0.05
	VarianceRatio     Statistic `json:"variance_ratio"`
}

// Statistic describes a number over functions.
type Statistic struct {
	Mean   float64 `json:"mean"`
	StdErr float64 `json:"std_err"` // of the mean; 0 for fewer than two functions
	Median float64 `json:"median"`
}

// ksLevel is the significance at which a function counts as rejected.
const ksLevel = 0.05

// Rejected reports whether the Kolmogorov–Smirnov test tells the samples from
// the reference at the 5 % level. In more than one dimension there is no test;
// in one its p may be zero, since exp(−2nD²) underflows.
func (f Function) Rejected() bool { return f.KS > 0 && f.KSP < ksLevel }

// describe computes mean, standard error s/√n and median. No values give zeros.
func describe(values []float64) Statistic {
	n := float64(len(values))
	if n == 0 {
		return Statistic{}
	}
	var s Statistic
	for _, v := range values {
		s.Mean += v / n
	}
	if len(values) > 1 {
		var squares float64
		for _, v := range values {
			squares += (v - s.Mean) * (v - s.Mean)
		}
		s.StdErr = math.Sqrt(squares / (n - 1) / n)
	}
	sorted := slices.Sorted(slices.Values(values))
	s.Median = (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
	return s
}

// summarise fills r.Summary from r.Functions; mixed[i] says whether the
// reference of function i is near the exact law, where there is one.
func (r *Row) summarise(mixed []bool) {
	column := func(value func(Function) float64) []float64 {
		values := make([]float64, len(r.Functions))
		for i, f := range r.Functions {
			values[i] = value(f)
		}
		return values
	}
	w2 := column(func(f Function) float64 { return f.W2 })
	var w2Mixed []float64
	for i, v := range w2 {
		if mixed != nil && mixed[i] {
			w2Mixed = append(w2Mixed, v)
		}
	}
	r.Summary = Summary{
		Sinkhorn:          describe(column(func(f Function) float64 { return f.Sinkhorn })),
		SinkhornConverged: describe(column(func(f Function) float64 { return f.SinkhornConverged })),
		W2:                describe(w2),
		W2Mixed:           describe(w2Mixed),
		W2Exact:           describe(column(func(f Function) float64 { return f.W2Exact })),
		SlicedW2:          describe(column(func(f Function) float64 { return f.SlicedW2 })),
		KS:                describe(column(func(f Function) float64 { return f.KS })),
		VarianceRatio:     describe(column(func(f Function) float64 { return f.VarianceRatio })),
	}
	for _, f := range r.Functions {
		r.Summary.Residual = max(r.Summary.Residual, f.Residual)
		if f.Rejected() {
			r.Summary.KSRejected += 1 / float64(len(r.Functions))
		}
	}
}

// Row finds the first row of a kind.
func (r *Results) Row(k Kind) (Row, bool) {
	for _, row := range r.Rows {
		if row.Kind == k {
			return row, true
		}
	}
	return Row{}, false
}
