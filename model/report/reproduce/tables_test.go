package reproduce

import (
	"math"
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/report/studies"
)

// outcome is an evaluation whose rows have these distances.
func outcome(rows map[evaluate.Kind][]float64) studies.Outcome {
	r := &evaluate.Results{Experiment: experiment.Experiment{Data: data.Dataset{Family: "vn1d"}}}
	for kind, values := range rows {
		row := evaluate.Row{Kind: kind}
		for _, v := range values {
			row.Functions = append(row.Functions, evaluate.FunctionResult{W2: v})
		}
		r.Rows = append(r.Rows, row)
	}
	return studies.Outcome{Results: r}
}

func TestTableOfKnownNumbers(t *testing.T) {
	w2, seconds, solveSeconds := metric(t, "w2"), metric(t, "seconds"), metric(t, "solve_seconds")
	trainSeconds, steps := metric(t, "train_seconds"), metric(t, "simulated_steps")
	s := studies.Study{Name: "s", Runs: []studies.RunSpec{{Name: "r"}}}
	have := newCollection()
	have.made[runEvaluation{"r", ""}] = []studies.Outcome{
		outcome(map[evaluate.Kind][]float64{evaluate.Model: {1, 2, 3, 10}, evaluate.Floor: {2, 2, 4, 4}}),
		outcome(map[evaluate.Kind][]float64{evaluate.Model: {3, 2, 1, 2}}), // a second seed
	}
	have.printed[runEvaluation{"r", ""}] = []evaluate.PaperRow{{Kind: evaluate.Model, Numbers: map[evaluate.Quantity]float64{evaluate.W2Mean: 0.5}}}
	table, err := have.table(s, studies.TableSpec{
		Columns: []studies.ColumnSpec{{Metric: w2, Aggregate: studies.Mean}, {Metric: w2, Aggregate: studies.Median}, {Metric: w2, Aggregate: studies.Closer}, {Metric: w2, Aggregate: studies.Excess}},
		Rows:    []studies.RowSpec{{Name: "model", Kind: evaluate.Model}, {Name: "floor", Kind: evaluate.Floor}, {Name: "none", Kind: evaluate.MCMC}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]*Estimate{
		{{Value: 3, Seeds: []float64{4, 2}}, {Value: 2.25, Seeds: []float64{2.5, 2}}, nil, nil},
		{{Value: 3, Seeds: []float64{3}}, {Value: 3, Seeds: []float64{3}}, {Value: 0.5, Seeds: []float64{0.5, 0.5}}, {Value: 0, Seeds: []float64{-1, 1}}},
		{nil, nil, nil, nil},
	} {
		for j, w := range want {
			got := table.Rows[i].Cells[j].Ours
			if (got == nil) != (w == nil) || got != nil && (math.Abs(got.Value-w.Value) > 1e-12 || !slices.Equal(got.Seeds, w.Seeds)) {
				t.Errorf("%s, %s: %+v, want %+v", table.Rows[i].Name, table.Columns[j].Name, got, w)
			}
		}
	}
	// Of a wall time the first seed's stands, whatever the others had to share a
	// machine with.
	for k, s := range []float64{5, 50} {
		rows := have.made[runEvaluation{"r", ""}][k].Results.Rows
		for i := range rows {
			rows[i].SetupSeconds, rows[i].SolveSeconds = 1, s
		}
	}
	for _, m := range []studies.Metric{seconds, solveSeconds} {
		got, err := have.number(s, studies.RowSpec{}, studies.RowSpec{Kind: evaluate.Model}, studies.ColumnSpec{Metric: m})
		if err != nil || len(got.Seeds) != 2 || !(got.Seeds[1] >= 50) || got.Value != got.Seeds[0] || got.Interval != nil {
			t.Errorf("%s of two seeds: %+v, %v", m.Key, got, err)
		}
	}
	for _, m := range []studies.Metric{seconds, solveSeconds, trainSeconds, steps} {
		if want := m.Key != steps.Key; m.Time != want {
			t.Errorf("%s is a wall time: %v, want %v", m.Key, m.Time, want)
		}
	}
	// What was not trained has no time of training.
	for kind, want := range map[evaluate.Kind]float64{evaluate.Model: 7, evaluate.Shuffled: 7, evaluate.Floor: 0} {
		of := studies.Outcome{TrainSeconds: 7}
		if got := trainSeconds.PerRow(of, evaluate.Row{Kind: kind}); got != want {
			t.Errorf("%s took %v s of training, want %v", kind, got, want)
		}
	}
	// Where all functions have the same value, a bootstrap shows no spread.
	if e, err := estimate([][]float64{{0, 0, 0}}, nil, studies.Mean); err != nil || e.Value != 0 || e.Interval != nil {
		t.Errorf("three zeros: %+v, %v", e, err)
	}
	if !table.Columns[0].Printed || table.Columns[1].Printed || *table.Rows[0].Cells[0].Paper != 0.5 || table.Rows[1].Cells[0].Paper != nil {
		t.Errorf("the paper's number is not where it belongs: %+v", table.Columns)
	}
}

func TestDigits(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", 1: "1.00", 64: "64", 32256: "32,256", 319999744: "319,999,744", -1234: "−1,234",
		0.0123456: "0.0123", 0.99964: "1.00", 9.996: "10.0", 12.34: "12.3", 123.4: "123", 0.000123456: "0.000123",
		0.00001234: "1.23e−05", -0.00001234: "−1.23e−05", -0.00579: "−0.00579", 1234567.5: "1.23e+06",
	} {
		if got := digits(v); got != want {
			t.Errorf("digits(%v) is %s, want %s", v, got, want)
		}
	}
	if got := wall(4000) + ", " + wall(127.4) + ", " + wall(3.21) + ", " + wall(3599.8) + ", " + wall(0); got != "1 h 07 min, 2 min 07 s, 3.2 s, 1 h 00 min, –" {
		t.Error(got)
	}
}
