package gate

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// Kinds are the rows that an evaluation needs for the gate.
func Kinds() []evaluate.Kind {
	return []evaluate.Kind{evaluate.Model, evaluate.Untrained, evaluate.Moments}
}

// Judge decides from two evaluations; champion is nil where there is none. It refuses to
// compare distances that are not measured alike. The controls are the candidate's.
func Judge(c Config, candidate, champion *evaluate.Results) Verdict {
	mine, err := TableOf(candidate, evaluate.Model)
	if err != nil {
		return Verdict{Decision: Refuse, Reasons: []string{"the candidate's evaluation: " + err.Error()}, Confidence: c.Confidence,
			Checks: []Check{}, Differences: []Difference{}, Warnings: []string{}}
	}
	var controls Controls
	for kind, table := range map[evaluate.Kind]**Table{evaluate.Moments: &controls.Normal, evaluate.Untrained: &controls.Untrained} {
		if t, err := TableOf(candidate, kind); err == nil {
			*table = &t
		}
	}
	if champion == nil {
		return Decide(c, mine, nil, controls)
	}
	theirs, err := TableOf(champion, evaluate.Model)
	if err == nil {
		err = Comparable(candidate, champion)
	}
	if err != nil {
		v := Decide(c, mine, nil, controls)
		if v.Decision == Promote { // the checks hold
			v.Reasons = nil
		}
		v.Decision, v.Reasons = Refuse, append([]string{"candidate and champion cannot be compared: " + err.Error()}, v.Reasons...)
		return v
	}
	v := Decide(c, mine, &theirs, controls)
	if candidate.Experiment.Seed != champion.Experiment.Seed {
		v.Warnings = append(v.Warnings, fmt.Sprintf("the candidate's samples start from the noise of seed %d, the champion's from that of seed %d: the comparison is right, but less precise than with the same noise", candidate.Experiment.Seed, champion.Experiment.Seed))
	}
	return v
}

// Comparable reports why the distances of two evaluations are not measured alike: from other
// references, in other units or with another blur.
func Comparable(a, b *evaluate.Results) error {
	for _, x := range []struct {
		what string
		a, b any
	}{
		{"dimensions", a.Dim, b.Dim},
		{"samples of a function", a.Samples, b.Samples},
		{"the family", a.Experiment.Data.Family, b.Experiment.Data.Family},
		{"data.seed", a.Experiment.Data.Seed, b.Experiment.Data.Seed},
		{"data.reference", fmt.Sprint(a.Experiment.Data.Reference), fmt.Sprint(b.Experiment.Data.Reference)},
		{"evaluation.blur", a.Experiment.Evaluation.Blur, b.Experiment.Evaluation.Blur},
		{"evaluation.scaling", a.Experiment.Evaluation.Scaling, b.Experiment.Evaluation.Scaling},
	} {
		if x.a != x.b {
			return fmt.Errorf("%s: %.80q and %.80q", x.what, fmt.Sprint(x.a), fmt.Sprint(x.b))
		}
	}
	same := slices.EqualFunc(a.Units, b.Units, func(x, y float64) bool { return math.Abs(x-y) <= 1e-6*math.Abs(y) })
	if !same {
		return fmt.Errorf("their distances are in different units, the deviations of their training samples: %.4g and %.4g", a.Units, b.Units)
	}
	return nil
}

// column is one metric of an evaluation.
type column struct {
	name     string
	absolute bool
	value    func(evaluate.FunctionResult) float64
}

// Names of the metrics, beside the fields of an evaluation's functions in JSON.
const (
	varianceError = "variance_error" // |ln variance_ratio|: 0.1 is a tenth too wide or too narrow
	ksRejected    = "ks_rejected"    // fraction of functions that KS rejects at 5 %, chains counted as independent draws
)

// columns of samples in dim dimensions, the one of the checks first. The annealed Sinkhorn
// divergence leads the table of a report. It does not lead here, since it is no distance: in
// the plane normal laws come out below zero, and so below a second reference set.
func columns(dim int, particles, exact, effective bool) []column {
	var all []column
	add := func(name string, value func(evaluate.FunctionResult) float64) {
		all = append(all, column{name: name, value: value})
	}
	switch {
	case particles:
		add("feature_w2", func(f evaluate.FunctionResult) float64 { return f.Observables.FeatureW2 })
		add("radial_error", func(f evaluate.FunctionResult) float64 { return f.Observables.RadialError })
		add("marginal_kl", func(f evaluate.FunctionResult) float64 { return f.Observables.MarginalKL })
		add("energy_ks", func(f evaluate.FunctionResult) float64 { return f.Observables.Energy.KS })
		add("sliced_w2", evaluate.SlicedW2.Of)
	case dim == 1:
		add("w2", evaluate.W2.Of)
		add("ks", func(f evaluate.FunctionResult) float64 { return f.KS })
	default:
		add("sliced_w2", evaluate.SlicedW2.Of)
	}
	if !particles {
		add("sinkhorn", evaluate.Sinkhorn.Of)
		if dim <= evaluate.MaxConvergedDim {
			add("sinkhorn_converged", func(f evaluate.FunctionResult) float64 { return f.SinkhornConverged })
		}
	}
	if exact {
		add("w2_exact", evaluate.W2Exact.Of)
	}
	if effective {
		all = append(all, column{ksRejected, true, func(f evaluate.FunctionResult) float64 {
			if rejected, _ := f.Rejected(); rejected {
				return 1
			}
			return 0
		}})
	}
	return append(all, column{varianceError, true, func(f evaluate.FunctionResult) float64 { return math.Abs(math.Log(f.VarianceRatio)) }})
}

// Names are the metrics that an evaluation of a family has.
func Names(f family.Family) []string {
	_, particles := f.(family.Gibbs)
	_, exact := f.(family.KnownLaw)
	var names []string
	for _, c := range columns(f.Dim(), particles, exact, f.Dim() == 1) {
		names = append(names, c.name)
	}
	return names
}

// TableOf has the metrics of the first row of a kind.
func TableOf(r *evaluate.Results, kind evaluate.Kind) (Table, error) {
	if r == nil {
		return Table{}, errors.New("there are no results")
	}
	row, ok := r.Row(kind)
	if !ok {
		return Table{}, fmt.Errorf("there is no row of kind %s", kind)
	}
	f, err := r.Experiment.Family()
	if err != nil {
		return Table{}, err
	}
	t := Table{Row: row.Name, Equations: evaluate.ResamplingUnits(f, row.Functions)}
	for _, d := range row.Functions {
		t.Functions = append(t.Functions, d.Index)
	}
	particles := r.Particles()
	if particles && slices.ContainsFunc(row.Functions, func(d evaluate.FunctionResult) bool { return d.Observables == nil }) {
		return Table{}, fmt.Errorf("some functions of %s have no observables", row.Name)
	}
	dim := max(r.Dim, 1) // results of older builds leave it out on the line
	for _, c := range columns(dim, particles, len(r.ReferenceToExact) > 0, dim == 1 && row.Summary.KSEffectiveRejected != nil) {
		m := Metric{Name: c.name, Absolute: c.absolute}
		for _, d := range row.Functions {
			m.Values = append(m.Values, c.value(d))
		}
		t.Metrics = append(t.Metrics, m)
	}
	return t, nil
}
