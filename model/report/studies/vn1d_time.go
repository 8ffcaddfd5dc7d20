package studies

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// vn1dTime learns the law at a physical time. The paper names that as an open direction
// and has no numbers for it.
var vn1dTime = Study{
	Name:  "vn1d_time",
	Title: "1D variable noise, at a physical time",
	Runs:  []RunSpec{{Name: "vn1d_time", Experiment: "vn1d_time"}},
	Tables: []TableSpec{
		{
			ID:      "vn1d_time",
			Title:   "Samples against simulated ones, all times together",
			Columns: distances,
			Rows:    slices.Concat(inputRows, timeControls, controls[3:]),
			Notes: []string{
				"The reference is simulated: independent chains from N(0,1) that end at the function's time. The floor is a second such set. Model, given the longest time: the same network with the right equation, always at τ = 50. Invariant law: exact draws from the law that the equation tends to.",
				"A function is an equation at a time. Given another function, the model gets another time and nearly always another equation: that row shows that the model uses its input, not which part of it. The row of the longest time shows whether it uses the time.",
			},
		},
		{
			ID:      "vn1d_time-w2",
			Title:   "Mean W2 by physical time",
			Columns: byTime(w2, Mean),
			Rows:    slices.Concat(inputRows, timeControls),
		},
		{
			ID:      "vn1d_time-sinkhorn",
			Title:   "Mean Sinkhorn divergence by physical time",
			Columns: byTime(sinkhorn, Mean),
			Rows:    slices.Concat(inputRows, timeControls),
			Notes:   []string{"The paper's metric: annealed with a scaling of 0.5, it stops before it has converged and may be negative."},
		},
		{
			ID:      "vn1d_time-w2-above",
			Title:   "W2 above the model's, mean, by physical time",
			Columns: byTime(w2, Excess),
			Rows:    slices.Concat(inputRows, timeControls),
			Notes:   []string{"W2 of the row minus that of the model on the same function. If an interval contains 0, these functions cannot tell the two apart."},
		},
		{
			ID:      "vn1d_time-sinkhorn-above",
			Title:   "Sinkhorn divergence above the model's, mean, by physical time",
			Columns: byTime(sinkhorn, Excess),
			Rows:    slices.Concat(inputRows, timeControls),
		},
		{
			ID:      "vn1d_time-training",
			Title:   "Training",
			Columns: trainings,
			Rows:    inputRows[:1],
		},
	},
	Figures: map[string]FigureNote{"evolution": {Note: "Horizontal axis: state x; vertical axis: density."}},
	Notes:   []string{"The paper names laws at physical times as an open direction and has no numbers for them. Each held-out equation is evaluated at eight times; intervals are over equations."},
}

var (
	// Rows that show whether the model uses the time and the equation.
	inputRows = []RowSpec{
		{Name: "model", Kind: evaluate.Model},
		{Name: "model, given the longest time", Kind: evaluate.Longest},
		{Name: "model, given another function", Kind: evaluate.Shuffled},
	}
	timeControls = append([]RowSpec{{Name: "invariant law", Kind: evaluate.Invariant}}, controls[:3]...)
)

// byTime has a column for each interval of physical time.
func byTime(m Metric, of Aggregate) []ColumnSpec {
	ends := times()
	columns := make([]ColumnSpec, len(ends)-1)
	for k := range columns {
		during := m
		during.Among = func(_ Outcome, all []evaluate.FunctionResult) []evaluate.FunctionResult {
			return evaluate.WithinInterval(all, ends, k)
		}
		columns[k] = ColumnSpec{Metric: during, Aggregate: of, Name: fmt.Sprintf("τ %.2g to %.2g", ends[k], ends[k+1])}
	}
	return columns
}

// times are the ends of the family's intervals of time.
func times() []float64 {
	f, err := family.ByName("vn1d_time")
	if err != nil {
		panic(fmt.Sprintf("reproduce: the family of vn1d_time: %v", err))
	}
	return f.(family.Timed).Times()
}
