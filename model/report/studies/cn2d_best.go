package studies

import "github.com/ergoflow/ergoflow/model/evaluation/evaluate"

// cn2dBest is cn2d at the preset best: one trained network, which gets the drift at the nodes of
// the grid from the equation or from sensors, and what each of its choices contributes.
var cn2dBest = Study{
	Name:  "cn2d",
	Title: "2D constant noise",
	Runs: []RunSpec{
		{Name: "sensors", Experiment: "cn2d", Evaluations: fewerSensors},
		{Name: "grid", Experiment: "cn2d_grid"},
		{Name: "drift", Experiment: "cn2d_grid", Set: []string{"model.deeponet.fields=[{name: drift, shape: [32, 32, 2]}]"}},
		{Name: "schedule", Experiment: "cn2d_grid", Set: []string{"training.epochs=1", "training.learning_rate=0.001", "training.batch_functions=16"}},
	},
	Tables: []TableSpec{
		{
			ID:      "cn2d-best",
			Title:   "Samples against the reference",
			Columns: besideGrid,
			Base:    &grid,
			Rows: []RowSpec{
				{Name: "256 sensors", Run: "sensors", Kind: evaluate.Model},
				grid,
				{Name: "shuffled sensors: given another field", Kind: evaluate.Shuffled, Once: true},
				{Name: "MCMC", Kind: evaluate.MCMC},
				{Name: "floor: a second reference set", Kind: evaluate.Floor},
				halves,
				{Name: "moment-matched normal", Kind: evaluate.Moments},
				{Name: "pooled Gaussian", Kind: evaluate.Pooled},
				{Name: "N(0,I)", Kind: evaluate.Normal},
				{Name: "untrained network", Kind: evaluate.Untrained, Once: true},
			},
			Notes: []string{
				"Above the grid: sliced W2 of the row minus that of the network of the grid on the same field, mean over fields. If the interval contains 0, these fields cannot tell the two apart.",
				"The network reads the force, arsinh of 2D⁻¹(b − ½∇·D) with D = σσᵀ, at 32 × 32 nodes: the equation's own (grid), or what trajectories of the equation show there (sensors). Both rows are of one training, on the grid.",
				annealed,
			},
		},
		{
			ID:      "cn2d-best-choices",
			Title:   "What the choices contribute",
			Columns: besideGrid,
			Base:    &grid,
			Rows: []RowSpec{
				grid,
				{Name: "the drift instead of the force", Run: "drift", Kind: evaluate.Model},
				{Name: "the schedule of scaled: one epoch of 16 functions, learning rate 0.001", Run: "schedule", Kind: evaluate.Model},
				{Name: "128 sensors", Run: "sensors", Evaluation: "128", Kind: evaluate.Model},
				{Name: "64 sensors", Run: "sensors", Evaluation: "64", Kind: evaluate.Model},
			},
		},
	},
	Figures:       map[string]FigureNote{"samples": {Paper: "fig:d2_samples"}},
	ConfiguredIn:  "in the text",
	Configuration: with(inPlane, map[string]string{"sensors": "256"}),
}

var (
	besideGrid = []ColumnSpec{
		{Metric: sinkhorn, Aggregate: Mean}, {Metric: trainSeconds}, {Metric: sinkhorn, Aggregate: Median},
		{Metric: converged, Aggregate: Mean}, {Metric: slicedW2, Aggregate: Mean},
		{Metric: slicedW2, Aggregate: Excess, Name: "sliced W2 above the grid, mean"}, {Metric: seconds},
	}
	grid         = RowSpec{Name: "grid", Run: "grid", Kind: evaluate.Model}
	fewerSensors = []EvaluationSpec{
		{Name: "128", Set: []string{"evaluation.sensors=128"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "64", Set: []string{"evaluation.sensors=64"}, Kinds: []evaluate.Kind{evaluate.Model}},
	}
)
