package gate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/internal/finitejson"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/evaluation/observables"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report/reporttest"
)

// better has the values of the model's row multiplied by factor.
func better(r *evaluate.Results, factor float64) *evaluate.Results {
	out := *r
	out.Rows = slices.Clone(r.Rows)
	for i, row := range out.Rows {
		if row.Kind != evaluate.Model {
			continue
		}
		row.Functions = slices.Clone(row.Functions)
		for k := range row.Functions {
			f := &row.Functions[k]
			f.W2, f.Sinkhorn, f.W2Exact, f.SlicedW2 = factor*f.W2, factor*f.Sinkhorn, factor*f.W2Exact, factor*f.SlicedW2
			if f.Observables != nil {
				o := *f.Observables
				o.FeatureW2 *= factor
				f.Observables = &o
			}
		}
		out.Rows[i] = row
	}
	return &out
}

// made are made-up results of every kind of family, with the names of their metrics.
func made(t *testing.T) map[*evaluate.Results]string {
	t.Helper()
	line := reporttest.Results(t)
	line.ReferenceToExact = make([]float64, line.Functions)
	for i := range line.Rows {
		line.Rows[i].Summary.KSEffectiveRejected = new(0.5)
		for k := range line.Rows[i].Functions {
			f := &line.Rows[i].Functions[k]
			f.KS, f.KSPEffective = f.W2/5, 0.3/float64(1+k%10)
		}
	}
	several := func(name string, dim int, change func(*evaluate.FunctionResult)) *evaluate.Results {
		e, err := experiment.Load(name, "scaled", "", nil)
		if err != nil {
			t.Fatal(err)
		}
		r := reporttest.Results(t)
		r.Experiment, r.Dim = e, dim
		for i := range r.Rows {
			for k := range r.Rows[i].Functions {
				f := &r.Rows[i].Functions[k]
				f.SlicedW2, f.W2, f.W2Exact = f.W2, 0, 0
				change(f)
			}
		}
		return r
	}
	timed, err := experiment.Load("vn1d_time", "scaled", "", nil)
	if err != nil {
		t.Fatal(err)
	}
	times := better(line, 1)
	times.Experiment, times.ReferenceToExact = timed, nil
	return map[*evaluate.Results]string{
		line:  "w2 ks sinkhorn sinkhorn_converged w2_exact ks_rejected variance_error",
		times: "w2 ks sinkhorn sinkhorn_converged ks_rejected variance_error",
		several("cn2d", 2, func(*evaluate.FunctionResult) {}): "sliced_w2 sinkhorn sinkhorn_converged variance_error",
		several("particles64d", 64, func(f *evaluate.FunctionResult) {
			f.Sinkhorn = 0
			f.Observables = &evaluate.Observables{FeatureW2: f.SlicedW2, RadialError: 1, MarginalKL: 2, Energy: observables.Energies{KS: 0.1}}
		}): "feature_w2 radial_error marginal_kl energy_ks sliced_w2 variance_error",
	}
}

// Every family has its metrics, of which the first decides.
func TestJudgeEveryFamily(t *testing.T) {
	for r, names := range made(t) {
		family, err := r.Experiment.Family()
		if err != nil {
			t.Fatal(err)
		}
		table, err := TableOf(r, evaluate.Model)
		if err != nil || strings.Join(table.names(), " ") != names {
			t.Errorf("%s has the metrics %v, want %s: %v", family.Name(), table.names(), names, err)
		}
		if got := Names(family); !slices.Equal(got, table.names()) {
			t.Errorf("%s is said to have %v", family.Name(), got)
		}
		c := Default()
		for _, metric := range []string{table.names()[0], ""} {
			c.Metric = metric
			for factor, want := range map[float64]Decision{0.5: Promote, 1: Keep, 1.1: Keep} {
				if v := Judge(c, better(r, factor), r); v.Decision != want || v.Metric != table.names()[0] || len(v.Differences) != len(table.names()) {
					t.Errorf("%s, %g times the champion's: %s, %q", family.Name(), factor, v.Decision, v.Reasons)
				}
			}
		}
		if v := Judge(c, r, nil); v.Decision != Promote {
			t.Errorf("%s without a champion: %q", family.Name(), v.Reasons)
		}
		if family.Name() == "vn1d_time" {
			if v := Judge(c, r, nil); v.Equations >= v.Functions {
				t.Errorf("%d functions of %d equations", v.Functions, v.Equations)
			}
		}
	}
}

// What is not measured alike is not compared.
func TestJudgeRefuses(t *testing.T) {
	base := reporttest.Results(t)
	for name, tt := range map[string]struct {
		change func(*evaluate.Results)
		reason string
	}{
		"units":    {func(r *evaluate.Results) { r.Units = []float64{2} }, "different units"},
		"samples":  {func(r *evaluate.Results) { r.Samples = 512 }, "samples of a function"},
		"seed":     {func(r *evaluate.Results) { r.Experiment.Data.Seed++ }, "data.seed"},
		"blur":     {func(r *evaluate.Results) { r.Experiment.Evaluation.Blur = 1 }, "evaluation.blur"},
		"no model": {func(r *evaluate.Results) { r.Rows = r.Rows[:2] }, "no row of kind model"},
		"NaN":      {func(r *evaluate.Results) { r.Rows[2].Functions[3].W2 = math.NaN() }, "w2 NaN for function 64515"},
	} {
		changed := better(base, 1)
		tt.change(changed)
		for _, pair := range [][2]*evaluate.Results{{base, changed}, {changed, base}} {
			v := Judge(Default(), pair[0], pair[1])
			if v.Decision != Refuse || !strings.Contains(v.Reasons[0], tt.reason) {
				t.Errorf("%s: %s, %q", name, v.Decision, v.Reasons)
			}
		}
	}
	if v := Judge(Default(), nil, nil); v.Decision != Refuse {
		t.Error("nothing is promoted")
	}
	// A model whose samples are all equal has no finite error of the variance.
	collapsed := better(base, 0.5)
	collapsed.Rows[2].Functions[0].VarianceRatio = 0
	if v := Judge(Default(), collapsed, base); v.Decision != Refuse || !strings.Contains(v.Reasons[0], "variance_error") {
		t.Errorf("collapsed: %q", v.Reasons)
	}
	// Results that were stored and read again give the same verdict.
	text, _, err := finitejson.Marshal(base, "")
	if err != nil {
		t.Fatal(err)
	}
	var read evaluate.Results
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	if v := Judge(Default(), better(base, 0.5), &read); v.Decision != Promote || len(v.Warnings) != 0 {
		t.Errorf("with stored results: %s, %q, %q", v.Decision, v.Reasons, v.Warnings)
	}
	read.Experiment.Seed++
	if v := Judge(Default(), better(base, 0.5), &read); v.Decision != Promote || len(v.Warnings) != 1 {
		t.Errorf("other noise: %q", v.Warnings)
	}
}
