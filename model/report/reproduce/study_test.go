package reproduce

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
	for _, s := range Studies {
		for _, c := range s.Costs {
			points := map[string]bool{}
			for _, p := range c.Points {
				where := fmt.Sprintf("%s, %s of %s, %s", s.Name, c.Name, p.Series, p.Name)
				run, ok := s.run(p.Run)
				if !ok {
					t.Errorf("%s: no run %s", where, p.Run)
				}
				checkNamed(t, where, run, p.Row, Column{})
				if points[where] {
					t.Errorf("%s is there twice", where)
				}
				points[where] = true
			}
		}
		for _, row := range s.Spread {
			run, ok := s.run(row.Run)
			if !ok {
				t.Errorf("%s, spread, %s: no run %s", s.Name, row.Name, row.Run)
			}
			checkNamed(t, s.Name+", spread, "+row.Name, run, row, Column{})
		}
		for _, table := range s.Tables {
			if ids[table.ID] {
				t.Errorf("two tables are called %s", table.ID)
			}
			ids[table.ID] = true
			for _, row := range append(slices.Clone(table.Rows), table.base()) {
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

// Every number that the paper prints of the experiments stands in a table, and
// none beside what is not it: printed are as many as those lists have.
func TestPaperStandsInTables(t *testing.T) {
	type number struct {
		experiment, settings string
		kind                 evaluate.Kind
		names                string
		quantity             evaluate.Quantity
	}
	missing := map[number]float64{}
	studies, err := Select("all", "full")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Plan(studies, "full", 1)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]float64{}
	for _, s := range studies {
		have := newOutcomes()
		for _, j := range jobs {
			if j.Study != s.Name {
				continue
			}
			if _, _, err := Directory(t.TempDir()).collect(j, have); err != nil {
				t.Fatal(err)
			}
			for _, task := range j.Tasks {
				for _, line := range task.Paper {
					for q, v := range line.Numbers {
						missing[number{j.Experiment.Name, strings.Join(line.Settings, " "), line.Kind, strings.Join(line.Names, " "), q}] = v
					}
				}
			}
		}
		for _, table := range s.Tables {
			made, err := have.table(s, table)
			if err != nil {
				t.Fatal(err)
			}
			for i, line := range made.Rows {
				for k, cell := range line.Cells {
					if cell.Paper == nil {
						continue
					}
					shown[table.ID] = append(shown[table.ID], *cell.Paper)
					for n, v := range missing {
						if n.kind == line.Kind && n.quantity == table.Columns[k].quantity() && v == *cell.Paper && strings.Contains(n.names, table.Rows[i].Label) {
							delete(missing, n)
						}
					}
				}
			}
		}
	}
	for n, v := range missing {
		t.Errorf("no table has %v of %+v", v, n)
	}
	for id, want := range map[string][]float64{
		"vn1d-training":  {32256, 263.1},
		"rare1d-solvers": {0.131, 1.4, 0.011, 0.447, 0.239, 0.130, 7.4},
		"cn2d-extra":     {0.0203, 248.6, 0.0189, 253.9, 0.0180, 180.1, 0.0187, 303.4},
		"cn2d-transfer":  {0.0284, 0.0172, 0.0131, 0.0287, 0.0175, 0.0125, 0.0312, 0.0184, 0.0131, 0.0271, 0.0177, 0.0125},
		"cn2d-solver":    nil,
		"particles64d":   {1.786, 1.0159, 30.1422, 15.914, 0.99, 23.1144, 13.9604, 0.99, 20.0154, 12.3747, 0.98, 0.2038, 0.1071},
	} {
		if !slices.Equal(shown[id], want) {
			t.Errorf("table %s has %v of the paper, want %v", id, shown[id], want)
		}
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
				for _, k := range task.Kinds {
					if j.Seed > 1 && !slices.Contains(trained, k) {
						t.Errorf("%s, seed %d, %q makes %v", j.Run, j.Seed, task.Evaluation, task.Kinds)
					}
				}
				if j.Seed > 1 && len(task.Kinds) == 0 {
					t.Errorf("%s, seed %d, %q makes everything", j.Run, j.Seed, task.Evaluation)
				}
			}
		}
	}
}

// Rows that no table of a run names are not made, but those of the first run, whose
// figures are shown; with other seeds only those that depend on the state.
func TestPlanMakesWhatTablesName(t *testing.T) {
	studies, err := Select("all", "scaled")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Plan(studies, "scaled", 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, j := range jobs {
		for _, task := range j.Tasks {
			got[fmt.Sprintf("%s/%s/%d/%s", j.Study, j.Run, j.Seed, task.Evaluation)] = fmt.Sprint(task.Kinds)
		}
	}
	for task, want := range map[string]string{
		"vn1d/vn1d/1/":                      "[]",
		"vn1d/vn1d/1/budgets":               "[mcmc]",
		"vn1d/vn1d/2/":                      "[model]",
		"vn1d/vn1d/2/budgets":               "",
		"rare1d/rare1d/1/":                  "[]",
		"rare1d/rare1d/2/":                  "[model]",
		"cn2d/trajectory/1/":                "[]",
		"cn2d/trajectory/2/":                "[model shuffled]",
		"cn2d/film/1/":                      "[model]",
		"cn2d/film/2/":                      "[model]",
		"cn2d_transfer/512/1/":              "[]",
		"cn2d_transfer/512/2/":              "[model shuffled]",
		"cn2d_transfer/mixed/1/":            "",
		"cn2d_transfer/mixed/2/1024":        "[model]",
		"particles64d/particles64d/1/":      "[]",
		"particles64d/particles64d/2/":      "[model shuffled]",
		"particles64d/particles64d/1/rk4-4": "[model]",
		"vn1d_time/vn1d_time/1/":            "[]",
		"vn1d_time/vn1d_time/2/":            "[model shuffled longest]",
	} {
		if got[task] != want {
			t.Errorf("%s makes %q, want %q", task, got[task], want)
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
		if got := c.Metric.values(Outcome{}, row); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", c.Name, got, want)
		}
	}
	if got := byTime(w2, Mean)[3].Metric.values(Outcome{}, evaluate.Row{}); len(got) != 0 {
		t.Errorf("without functions: %v", got)
	}
}

// An evaluation must not change what is trained: its state would not exist.
func TestEvaluationOfAnotherTraining(t *testing.T) {
	r := Run{Name: "x", Experiment: "vn1d", Evaluations: []Evaluation{{Name: "wrong", Set: []string{"training.learning_rate=0.1"}}}}
	s := Study{Runs: []Run{r}, Tables: []Table{{Columns: distances, Rows: []Row{{Evaluation: "wrong", Kind: evaluate.Model}}}}}
	if _, err := s.job(r, "smoke", 1); err == nil || !strings.Contains(err.Error(), "wrong changes what is trained") {
		t.Errorf("error %v", err)
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
		{"cn2d_grid", "smoke", "cn2d_grid is a part of cn2d,"},
		{"rare1d", "tiny", `unknown preset "tiny" of rare1d`},
		{"all", "tiny", `a preset called "tiny"`},
	} {
		if _, err := Select(c.name, c.preset); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %s: %v", c.name, c.preset, err)
		}
	}
}
