package reproduce

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

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
	chosen, err := studies.Select("all", "full")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Plan(chosen, "full", 1)
	if err != nil {
		t.Fatal(err)
	}
	shown := map[string][]float64{}
	for _, s := range chosen {
		have := newCollection()
		for _, j := range jobs {
			if j.Study != s.Name {
				continue
			}
			if _, _, err := Directory(t.TempDir()).collect(j, have); err != nil {
				t.Fatal(err)
			}
			for _, task := range j.Evaluations {
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
						if n.kind == line.Kind && n.quantity == table.Columns[k].Quantity() && v == *cell.Paper && strings.Contains(n.names, table.Rows[i].Label) {
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
		chosen, err := studies.Select("all", preset)
		if err != nil {
			continue // a preset of an experiment that no table has
		}
		jobs, err := Plan(chosen, preset, 3)
		if err != nil {
			t.Fatal(err)
		}
		runs, keys := map[string]bool{}, map[string]string{}
		for _, j := range jobs {
			hash := j.Experiment.Hash()
			// The scaled preset has 64 sensors already, and best one training for sensors and
			// the grid: found, not trained again.
			same := preset == "scaled" && j.Run == "sensors64"
			again := same || preset == "best" && j.Run == "grid"
			if runs[hash] != again {
				t.Errorf("%s: %s trains %.12s, which another job does: %t", preset, j.Run, hash, runs[hash])
			}
			runs[hash] = true
			if j.Experiment.Seed != j.Seed {
				t.Errorf("job of seed %d has seed %d", j.Seed, j.Experiment.Seed)
			}
			for _, task := range j.Evaluations {
				if err := task.Experiment.Validate(); err != nil {
					t.Errorf("%s, %s, %s: %v", preset, j.Run, task.Name, err)
				}
				if other, ok := keys[task.key()]; ok && !same {
					t.Errorf("%s, seed %d, %q has the key of %s", j.Run, j.Seed, task.Name, other)
				}
				keys[task.key()] = j.Run + task.Name
				// One seed is enough for rows that no state is behind.
				for _, k := range task.Kinds {
					if j.Seed > 1 && !slices.Contains(studies.OfTrainedState, k) {
						t.Errorf("%s, seed %d, %q makes %v", j.Run, j.Seed, task.Name, task.Kinds)
					}
				}
				if j.Seed > 1 && len(task.Kinds) == 0 {
					t.Errorf("%s, seed %d, %q makes everything", j.Run, j.Seed, task.Name)
				}
			}
		}
	}
}

// Rows that no table of a run names are not made, but those of the first run, whose
// figures are shown; with other seeds only those that depend on the state.
func TestPlanMakesWhatTablesName(t *testing.T) {
	chosen, err := studies.Select("all", "scaled")
	if err != nil {
		t.Fatal(err)
	}
	jobs, err := Plan(chosen, "scaled", 2)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, j := range jobs {
		for _, task := range j.Evaluations {
			got[fmt.Sprintf("%s/%s/%d/%s", j.Study, j.Run, j.Seed, task.Name)] = fmt.Sprint(task.Kinds)
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

// An evaluation must not change what is trained: its state would not exist.
func TestEvaluationOfAnotherTraining(t *testing.T) {
	r := studies.RunSpec{Name: "x", Experiment: "vn1d", Evaluations: []studies.EvaluationSpec{{Name: "wrong", Set: []string{"training.learning_rate=0.1"}}}}
	s := studies.Study{Runs: []studies.RunSpec{r}, Tables: []studies.TableSpec{{Columns: []studies.ColumnSpec{{Metric: metric(t, "w2"), Aggregate: studies.Mean}}, Rows: []studies.RowSpec{{Evaluation: "wrong", Kind: evaluate.Model}}}}}
	if _, err := planRun(s, r, "smoke", 1); err == nil || !strings.Contains(err.Error(), "wrong changes the training") {
		t.Errorf("error %v", err)
	}
}

// metric finds a metric of the paper's tables by its key.
func metric(t *testing.T, key string) studies.Metric {
	t.Helper()
	for _, s := range studies.All {
		for _, table := range s.Tables {
			for _, c := range table.Columns {
				if c.Metric.Key == key {
					return c.Metric
				}
			}
		}
	}
	t.Fatalf("no table has the metric %s", key)
	return studies.Metric{}
}
