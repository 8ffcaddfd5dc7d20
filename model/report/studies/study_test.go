package studies

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Everything that a table names is there, at every preset.
func TestDeclaredStudies(t *testing.T) {
	ids := map[string]bool{}
	all := slices.Clone(All)
	for _, s := range All {
		if s.Best != nil {
			all = append(all, *s.Best)
		}
	}
	for _, s := range all {
		for _, c := range s.Costs {
			points := map[string]bool{}
			for _, p := range c.Points {
				where := fmt.Sprintf("%s, %s of %s, %s", s.Name, c.Name, p.Series, p.Name)
				run, ok := s.FindRun(p.Run)
				if !ok {
					t.Errorf("%s: no run %s", where, p.Run)
				}
				checkNamed(t, where, run, p.RowSpec, ColumnSpec{})
				if points[where] {
					t.Errorf("%s is there twice", where)
				}
				points[where] = true
			}
		}
		for _, row := range s.Spread {
			run, ok := s.FindRun(row.Run)
			if !ok {
				t.Errorf("%s, spread, %s: no run %s", s.Name, row.Name, row.Run)
			}
			checkNamed(t, s.Name+", spread, "+row.Name, run, row, ColumnSpec{})
		}
		for _, table := range s.Tables {
			if ids[table.ID] {
				t.Errorf("two tables are called %s", table.ID)
			}
			ids[table.ID] = true
			for _, row := range append(slices.Clone(table.Rows), table.BaseRow()) {
				run, ok := s.FindRun(row.Run)
				if !ok {
					t.Errorf("%s, %s: no run %s", table.ID, row.Name, row.Run)
				}
				for _, c := range table.Columns {
					checkNamed(t, table.ID+", "+row.Name, run, row, c)
				}
			}
		}
	}
}

// checkNamed finds the evaluation and, by its label, the budget of a cell.
func checkNamed(t *testing.T, where string, run RunSpec, row RowSpec, c ColumnSpec) {
	t.Helper()
	name := row.Evaluation
	if c.Evaluation != "" {
		name = c.Evaluation
	}
	v := EvaluationSpec{Budgets: run.Budgets}
	if name != "" {
		i := slices.IndexFunc(run.Evaluations, func(v EvaluationSpec) bool { return v.Name == name })
		if i < 0 {
			t.Errorf("%s: run %s has no evaluation %s", where, run.Name, name)
			return
		}
		v = run.Evaluations[i]
	}
	if len(v.Kinds) > 0 && !slices.Contains(v.Kinds, row.Kind) {
		t.Errorf("%s: evaluation %s makes no rows of kind %s", where, name, row.Kind)
	}
	if row.Label != "" && !slices.ContainsFunc(v.Budgets, func(b MCMCBudget) bool { return b.Name == row.Label }) {
		t.Errorf("%s: evaluation %q has no budget %s", where, name, row.Label)
	}
}

// What rare1d does at every preset is what its larger presets do.
func TestBudgetsAreThePresets(t *testing.T) {
	for _, preset := range []string{"scaled", "full"} {
		e, err := experiment.ByName("rare1d", preset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := MCMCRows(e.Evaluation, rare1d.Runs[0].Budgets)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, e.Evaluation.MCMC) {
			t.Errorf("%s: %+v, the preset has %+v", preset, got, e.Evaluation.MCMC)
		}
		for i, b := range rare1d.Runs[0].Budgets {
			steps := got[i].Scheme.Steps(e.Evaluation.Samples / got[i].Scheme.Chains)
			if steps > b.Steps || b.Steps-steps > b.Steps/100 {
				t.Errorf("%s takes %d steps", b.Name, steps)
			}
		}
	}
	e, err := experiment.ByName("vn1d", "scaled")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := MCMCRows(e.Evaluation, []MCMCBudget{{"short", 0.01, 70}}); err == nil || !strings.Contains(err.Error(), "short") {
		t.Errorf("70 steps for 64 samples of each chain: %v", err)
	}
}

// A column of an interval of physical time has the functions of that interval, and
// none of them is in two.
func TestByTime(t *testing.T) {
	ends := times()
	var row evaluate.Row
	for i := range 3 * (len(ends) - 1) {
		k := i % (len(ends) - 1)
		row.Functions = append(row.Functions, evaluate.FunctionResult{Time: math.Sqrt(ends[k] * ends[k+1]), W2: float64(i)})
	}
	row.Functions = append(row.Functions, evaluate.FunctionResult{Time: ends[2], W2: -1}, evaluate.FunctionResult{Time: ends[len(ends)-1], W2: -2})
	for k, c := range byTime(w2, Mean) {
		want := []float64{float64(k), float64(k + 8), float64(k + 16)}
		switch k {
		case 2:
			want = append(want, -1)
		case 7:
			want = append(want, -2)
		}
		if got := c.Metric.Values(Outcome{}, row); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.Name, got, want)
		}
	}
	if got := byTime(w2, Mean)[3].Metric.Values(Outcome{}, evaluate.Row{}); len(got) != 0 {
		t.Errorf("without functions: %v", got)
	}
}

func TestSelect(t *testing.T) {
	all, err := Select("all", "smoke")
	if err != nil || len(all) != len(Known()) {
		t.Errorf("all: %d of %d studies, %v", len(all), len(Known()), err)
	}
	one, err := Select("rare1d", "scaled")
	if err != nil || len(one) != 1 || one[0].Name != "rare1d" {
		t.Errorf("rare1d: %v, %v", one, err)
	}
	for _, name := range []string{"cn2d", "all"} {
		best, err := Select(name, "best")
		if err != nil || !slices.ContainsFunc(best, func(s Study) bool { return s.Name == "cn2d" && s.Runs[0].Name == "sensors" }) {
			t.Errorf("%s at best: %v, %v", name, best, err)
		}
	}
	for _, c := range []struct{ name, preset, want string }{
		{"nosuch", "smoke", "vn1d"},
		{"cn2d_grid", "smoke", "cn2d_grid is part of cn2d"},
		{"cn2d_transfer", "best", `unknown preset "best" of cn2d_transfer`},
		{"rare1d", "tiny", `unknown preset "tiny" of rare1d`},
		{"all", "tiny", `a preset called "tiny"`},
	} {
		if _, err := Select(c.name, c.preset); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.preset, err)
		}
	}
}

// Every function is among the mixed or the others, by the reference of the results
// that it is of; without exact laws there are neither.
func TestMixedAndOthers(t *testing.T) {
	of := Outcome{Results: &evaluate.Results{}}
	row := evaluate.Row{Functions: []evaluate.FunctionResult{{W2: 1}, {W2: 2}, {W2: 3}, {W2: 4}}}
	if some := append(mixed(w2).Values(of, row), unmixed(w2).Values(of, row)...); len(some) != 0 {
		t.Errorf("without exact laws: %v", some)
	}
	of.Results.ReferenceToExact, of.Results.MixedBelow = []float64{0.1, 0.2, 0.3, 0}, 0.2
	if in, out := mixed(w2).Values(of, row), unmixed(w2).Values(of, row); !slices.Equal(in, []float64{1, 4}) || !slices.Equal(out, []float64{2, 3}) {
		t.Errorf("mixed %v, others %v", in, out)
	}
}
