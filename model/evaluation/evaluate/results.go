package evaluate

import (
	"github.com/ergoflow/ergoflow/model/evaluation/controls"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Results is one evaluation; its JSON is the result file of a run.
type Results struct {
	Version    string                `json:"version"`
	Experiment experiment.Experiment `json:"experiment"`
	Run        string                `json:"run"`        // hash of the configuration
	Step       int                   `json:"step"`       // updates behind the state
	Parameters string                `json:"parameters"` // hash of the state's parameters
	Backend    string                `json:"backend"`    // what ran the network
	Dim        int                   `json:"dim"`        // numbers of a sample, two for a coordinate on a circle
	Functions  int                   `json:"functions"`
	Samples    int                   `json:"samples"` // per function and row
	// TrainedOn is the family that the network was trained on, if that of the experiment was
	// chosen for the evaluation.
	TrainedOn string `json:"trained_on,omitempty"`
	// Units are the standard deviations of the training samples along each axis, with TrainedOn
	// those of the held-out samples, where the flow's states are standardised:
	// distances are then relative to them. Without Units they are in the unit of x.
	Units []float64 `json:"units,omitempty"`
	Rows  []Row     `json:"rows"`
	// ReferenceToExact is the W2 distance of each reference set from the exact
	// invariant law: where it is large, the reference's chains have not mixed.
	// This and the next three are for families with exact laws.
	ReferenceToExact []float64 `json:"reference_to_exact,omitempty"`
	Reference        Statistic `json:"reference,omitzero"` // of ReferenceToExact
	MixedBelow       float64   `json:"mixed_below,omitzero"`
	Mixed            *int      `json:"mixed,omitempty"` // functions with ReferenceToExact below it; may be 0
	// LawUnknown says why these four are missing although the family has exact laws:
	// one of them could not be computed.
	LawUnknown string `json:"law_unknown,omitempty"`
	// ReferenceMixing is of the chains of the reference; nil where it has none.
	ReferenceMixing *Mixing `json:"reference_mixing,omitempty"`
	// ReferenceLaw compares simulated references with the laws in the plane; nil where these are
	// not known.
	ReferenceLaw *ReferenceLaw `json:"reference_law,omitempty"`
	// ReferenceEnergy is what steps of MALA make of the references of particles; nil for other families.
	ReferenceEnergy *ReferenceEnergy `json:"reference_energy,omitempty"`
	Seconds         float64          `json:"seconds"`
}

// Row has the samples of one kind, on every function.
type Row struct {
	Kind      Kind             `json:"kind"`
	Name      string           `json:"name"`
	Note      string           `json:"note,omitempty"`
	Functions []FunctionResult `json:"functions"`
	Summary   Summary          `json:"summary"`
	// SetupSeconds is what happens once (loading, compiling); SolveSeconds is
	// the drawing of all samples of all functions. Both are wall time.
	SetupSeconds float64 `json:"setup_seconds"`
	SolveSeconds float64 `json:"solve_seconds"`
	// SimulatedSteps are the time steps of one function, over all of
	// its chains; 0 for rows that simulate nothing.
	SimulatedSteps int `json:"simulated_steps"`
	// SequentialSteps follow one another on the way to a sample: steps of a
	// chain or evaluations of the network; 0 for none, and for an adaptive solver.
	SequentialSteps int `json:"sequential_steps"`
	// ModelCloser is the number of functions for which the model's leading
	// distance is smaller than this row's; null in the model's own row and in
	// results without it.
	ModelCloser *int `json:"model_closer,omitempty"`
	// Mixing is of the chains of an MCMC row; nil for other rows.
	Mixing *Mixing `json:"mixing,omitempty"`
	// Verdicts are of the model; missing for laws at a time.
	Verdicts *Verdicts `json:"verdicts,omitempty"`
	// Calibration is of the model, over the functions; missing for fewer than 16 of them.
	Calibration []Calibration `json:"calibration,omitempty"`
	// Components has the row by component, for mixtures.
	Components []ComponentResult `json:"components,omitempty"`
	// Times has the row by physical time, for families that have it.
	Times []TimeInterval `json:"times,omitempty"`
}

// FunctionResult is one row's samples of one function against its reference. Numbers
// that its dimension does not have are zero, and left out of JSON.
type FunctionResult struct {
	Index             int     `json:"index"`                       // within the experiment
	Component         string  `json:"component,omitempty"`         // of a mixture
	Time              float64 `json:"time,omitzero"`               // physical, of families that have it
	Sinkhorn          float64 `json:"sinkhorn,omitzero"`           // annealed as GeomLoss does by default; not of particles
	SinkhornConverged float64 `json:"sinkhorn_converged,omitzero"` // up to MaxConvergedDim
	Residual          float64 `json:"residual,omitzero"`           // of the converged one: L1 violation of a marginal
	W2                float64 `json:"w2,omitzero"`                 // one dimension; not squared
	SlicedW2          float64 `json:"sliced_w2,omitzero"`          // more dimensions
	Energy            float64 `json:"energy_distance,omitzero"`    // more dimensions; not of particles
	MarginalW2        float64 `json:"marginal_w2,omitzero"`        // likewise: mean over the coordinates
	WorstMarginalW2   float64 `json:"worst_marginal_w2,omitzero"`  // likewise: the largest
	KS                float64 `json:"ks,omitzero"`                 // one dimension
	KSP               float64 `json:"ks_p,omitzero"`               // one dimension; as if draws were independent
	KSPEffective      float64 `json:"ks_p_effective,omitzero"`     // one dimension; of the draws that chains are worth
	VarianceRatio     float64 `json:"variance_ratio"`              // samples / reference, of the sums of all variances
	W2Exact           float64 `json:"w2_exact,omitzero"`           // one dimension, to the exact invariant law
	// Observables are of particles alone.
	Observables *Observables `json:"observables,omitempty"`
}

// ksLevel is the significance at which a function counts as rejected.
const ksLevel = 0.05

// BelowLevel reports whether p of the Kolmogorov–Smirnov test is below 5 %, as if draws
// were independent: draws of chains are not, so that rejects nothing. The test exists in
// one dimension alone. Its p may be zero, since exp(−2nD²) underflows.
func (d FunctionResult) BelowLevel() bool { return d.KS > 0 && d.KSP < ksLevel }

// Rejected reports whether the Kolmogorov–Smirnov test tells the samples from the
// reference at the 5 % level, with the effective sizes of chains. It is not known of
// results without KSPEffective, which earlier versions wrote.
func (d FunctionResult) Rejected() (rejected, known bool) {
	return d.KSPEffective > 0 && d.KSPEffective < ksLevel, d.KSPEffective > 0
}

// WhereMixed selects the functions of a row whose reference has mixed, or the others;
// none where there is no exact law to tell.
func (r *Results) WhereMixed(functions []FunctionResult, mixed bool) (some []FunctionResult) {
	for i, d := range r.ReferenceToExact {
		if (d < r.MixedBelow) == mixed {
			some = append(some, functions[i])
		}
	}
	return some
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

// Particles reports whether the samples are of particles that may change places.
func (r *Results) Particles() bool { return hasObservables(r.Rows) }

// mixed is Mixed. Results of older builds leave it out where it is 0.
func (r *Results) mixed() int {
	if r.Mixed == nil {
		return 0
	}
	return *r.Mixed
}

// values has a distance of every function.
func (r Row) values(d Distance) []float64 {
	values := make([]float64, len(r.Functions))
	for i, f := range r.Functions {
		values[i] = d.Of(f)
	}
	return values
}

// compareWithModel fills in ModelCloser.
func (r *Results) compareWithModel() {
	model, ok := r.Row(Model)
	if !ok {
		return
	}
	leading := r.Distances()[0]
	for i, row := range r.Rows {
		if row.Kind != Model {
			wins := controls.Wins(model.values(leading), row.values(leading))
			r.Rows[i].ModelCloser = &wins
		}
	}
}
