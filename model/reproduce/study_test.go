package reproduce

import (
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Everything that a table names is there, at every preset.
func TestDeclaredStudies(t *testing.T) {
	ids := map[string]bool{}
	for _, s := range Studies {
		for _, row := range s.Costs {
			run, ok := s.run(row.Run)
			if !ok {
				t.Errorf("%s, costs of %s: no run %s", s.Name, row.Name, row.Run)
			}
			checkNamed(t, s.Name+", costs of "+row.Name, run, row, Column{})
		}
		for _, table := range s.Tables {
			if ids[table.ID] {
				t.Errorf("two tables are called %s", table.ID)
			}
			ids[table.ID] = true
			for _, row := range table.Rows {
				if len(row.Printed) > len(table.Columns) {
					t.Errorf("%s, %s: %d printed numbers for %d columns", table.ID, row.Name, len(row.Printed), len(table.Columns))
				}
				run, ok := s.run(row.Run)
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
func checkNamed(t *testing.T, where string, run Run, row Row, c Column) {
	t.Helper()
	name := row.Evaluation
	if c.Evaluation != "" {
		name = c.Evaluation
	}
	v := Evaluation{Budgets: run.Budgets}
	if name != "" {
		i := slices.IndexFunc(run.Evaluations, func(v Evaluation) bool { return v.Name == name })
		if i < 0 {
			t.Errorf("%s: run %s has no evaluation %s", where, run.Name, name)
			return
		}
		v = run.Evaluations[i]
	}
	if len(v.Kinds) > 0 && !slices.Contains(v.Kinds, row.Kind) {
		t.Errorf("%s: evaluation %s makes no rows of kind %s", where, name, row.Kind)
	}
	if row.Label != "" && !slices.ContainsFunc(v.Budgets, func(b Budget) bool { return b.Name == row.Label }) {
		t.Errorf("%s: evaluation %q has no budget %s", where, name, row.Label)
	}
}

func TestPlan(t *testing.T) {
	presets := map[string]bool{}
	for _, name := range experiment.Names() {
		for _, preset := range experiment.Presets(name) {
			presets[preset] = true
		}
	}
	for preset := range presets {
		studies, err := Select("all", preset)
		if err != nil {
			continue // a preset of an experiment that no table has
		}
		jobs, err := Plan(studies, preset, 3)
		if err != nil {
			t.Fatal(err)
		}
		runs, keys := map[string]bool{}, map[string]string{}
		for _, j := range jobs {
			hash := j.Experiment.Hash()
			// The scaled preset has 64 sensors already: found, not trained again.
			again := preset == "scaled" && j.Run == "sensors64"
			if runs[hash] != again {
				t.Errorf("%s: %s trains %.12s, which another job does: %t", preset, j.Run, hash, runs[hash])
			}
			runs[hash] = true
			if j.Experiment.Seed != j.Seed {
				t.Errorf("job of seed %d has seed %d", j.Seed, j.Experiment.Seed)
			}
			for _, task := range j.Tasks {
				if err := task.Experiment.Validate(); err != nil {
					t.Errorf("%s, %s, %s: %v", preset, j.Run, task.Evaluation, err)
				}
				if other, ok := keys[task.key()]; ok && !again {
					t.Errorf("%s, seed %d, %q has the key of %s", j.Run, j.Seed, task.Evaluation, other)
				}
				keys[task.key()] = j.Run + task.Evaluation
				// One seed is enough for rows that no state is behind.
				if j.Seed > 1 && slices.ContainsFunc(task.Kinds, func(k evaluate.Kind) bool { return !slices.Contains(trained, k) }) {
					t.Errorf("%s, seed %d, %q makes %v", j.Run, j.Seed, task.Evaluation, task.Kinds)
				}
			}
		}
	}
}

// What rare1d does at every preset is what its larger presets do.
func TestBudgetsAreThePresets(t *testing.T) {
	for _, preset := range []string{"scaled", "full"} {
		e, err := experiment.ByName("rare1d", preset)
		if err != nil {
			t.Fatal(err)
		}
		got, err := budgets(e.Evaluation, rare1d.Runs[0].Budgets)
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
	if _, err := budgets(e.Evaluation, []Budget{{"short", 0.01, 70}}); err == nil || !strings.Contains(err.Error(), "short") {
		t.Errorf("70 steps for 64 samples of each chain: %v", err)
	}
}

// An evaluation must not change what is trained: its state would not exist.
func TestEvaluationOfAnotherTraining(t *testing.T) {
	r := Run{Name: "x", Experiment: "vn1d", Evaluations: []Evaluation{{Name: "wrong", Set: []string{"training.learning_rate=0.1"}}}}
	if _, err := r.job("smoke", 1, nil); err == nil || !strings.Contains(err.Error(), "wrong changes what is trained") {
		t.Errorf("error %v", err)
	}
}

// The numbers of the paper beside a run's own table are those here.
func TestPrintedNumbersAgree(t *testing.T) {
	for _, s := range []Study{vn1d, rare1d} {
		var got []evaluate.PaperRow
		for _, row := range s.Tables[0].Rows {
			if p := row.Printed; p != nil {
				got = append(got, evaluate.PaperRow{SinkhornMean: p[0], SinkhornMedian: p[1], W2Mean: p[2], W2Median: p[3], Seconds: p[4]})
			}
		}
		want := slices.Clone(evaluate.Paper(s.Name))
		for i := range want {
			want[i].Method, want[i].Kind, want[i].Name = "", "", ""
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, in package evaluate %v", s.Name, got, want)
		}
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
	for _, c := range []struct{ name, preset, want string }{
		{"nosuch", "smoke", "vn1d"},
		{"rare1d", "tiny", `unknown preset "tiny" of rare1d`},
		{"all", "tiny", `a preset called "tiny"`},
	} {
		if _, err := Select(c.name, c.preset); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.preset, err)
		}
	}
}
