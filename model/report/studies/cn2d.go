package studies

import "github.com/ergoflow/ergoflow/model/evaluation/evaluate"

// cn2d is the two-dimensional experiment with constant noise. It varies what the
// network reads (representation), how it combines that (aggregator), how the result
// acts on the velocity (conditioning), and the number of sensors. Evaluations use 256
// sensors, except in the transfer table and for DeepSets: its sum over sensors grows
// with their number, so it is evaluated with the number that it was trained with.
var cn2d = Study{
	Name:  "cn2d",
	Title: "2D constant noise",
	Runs: []RunSpec{
		{Name: "trajectory", Experiment: "cn2d", Evaluations: finerSteps},
		{Name: "grid", Experiment: "cn2d_grid"},
		{Name: "point", Experiment: "cn2d", Set: []string{"model.sensor.representation=point"}},
		{Name: "endpoint", Experiment: "cn2d", Set: []string{"model.sensor.representation=endpoint"}},
		{Name: "meanpool", Experiment: "cn2d", Set: []string{"model.sensor.aggregator=mean"}},
		{Name: "deepsets", Experiment: "cn2d", Set: []string{"model.sensor.aggregator=deepsets", "evaluation.sensors=0"}},
		{Name: "film", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=film"}},
		{Name: "dot", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=dot"}},
		{Name: "concat", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=concat"}},
		{Name: "sensors64", Experiment: "cn2d", Set: []string{"model.sensor.sensors=64"}},
		{Name: "sensors128", Experiment: "cn2d", Set: []string{"model.sensor.sensors=128"}},
	},
	Tables: []TableSpec{
		{
			ID:      "cn2d",
			Title:   "Representation, aggregator, conditioning",
			Source:  "tab:d2_sinkhorn",
			Columns: ablations,
			Base:    &trajectories,
			Rows: []RowSpec{
				{Name: "grid DeepONet", Run: "grid", Kind: evaluate.Model},
				{Name: "point + Perceiver + AdaLN", Run: "point", Kind: evaluate.Model},
				{Name: "endpoint + Perceiver + AdaLN", Run: "endpoint", Kind: evaluate.Model},
				trajectories,
				{Name: "trajectory + mean pool + AdaLN", Run: "meanpool", Kind: evaluate.Model},
				{Name: "trajectory + DeepSets + AdaLN", Run: "deepsets", Kind: evaluate.Model},
				{Name: "trajectory + Perceiver + FiLM", Run: "film", Kind: evaluate.Model},
				{Name: "shuffled sensors: trajectory + Perceiver + AdaLN, given another field", Kind: evaluate.Shuffled},
				{Name: "MCMC", Kind: evaluate.MCMC},
				{Name: "floor: a second reference set", Kind: evaluate.Floor},
				halves,
				{Name: "moment-matched normal", Kind: evaluate.Moments},
				{Name: "pooled Gaussian", Kind: evaluate.Pooled},
				{Name: "N(0,I)", Kind: evaluate.Normal},
				{Name: "untrained network", Kind: evaluate.Untrained},
			},
			Notes: []string{"Above trajectories: sliced W2 of the row minus that of trajectory + Perceiver + AdaLN on the same field, mean over fields. If the interval contains 0, these fields cannot tell the two apart.", "Target split: one half of the reference's chains against the other half, half as many samples each.", "MCMC: chains with the scheme of the training data, 64 of them at the scaled preset; the reference has one chain per sample.", annealed},
		},
		{
			ID:      "cn2d-extra",
			Title:   "More conditionings, fewer sensors in training",
			Source:  "tab:d2_extra",
			Columns: ablations,
			Base:    &trajectories,
			Rows: []RowSpec{
				{Name: "trajectory + Perceiver + dot", Run: "dot", Kind: evaluate.Model},
				{Name: "trajectory + Perceiver + concat", Run: "concat", Kind: evaluate.Model},
				{Name: "trajectory + Perceiver + AdaLN, 64 sensors", Run: "sensors64", Kind: evaluate.Model},
				{Name: "trajectory + Perceiver + AdaLN, 128 sensors", Run: "sensors128", Kind: evaluate.Model},
			},
		},
		{
			ID:      "cn2d-solver",
			Title:   "Steps of the solver, on the first 8 fields",
			Columns: []ColumnSpec{{Metric: sinkhorn, Aggregate: Mean}, {Metric: sinkhorn, Aggregate: Median}, {Metric: slicedW2, Aggregate: Mean}, {Metric: solveSeconds}},
			Rows:    finerRows,
			Notes:   []string{"Both start from the same noise and use the network with trajectories. The paper does not name its solver in the plane."},
		},
	},
	Figures:       map[string]FigureNote{"samples": {Paper: "fig:d2_samples"}},
	ConfiguredIn:  "in the text",
	Configuration: with(inPlane, map[string]string{"sensors": "256"}),
	Notes: []string{"Every evaluation uses 256 sensors, except that of DeepSets: its sum over sensors grows with their number, so it is evaluated with the number that it was trained with. " +
		"Where a row names no number, the full preset trains with 256 sensors and the scaled preset with 64."},
	Best: &cn2dBest,
}

// cn2dTransfer trains with one number of sensors, or several in turn, and
// evaluates with each of them. Its probes are random walks.
var cn2dTransfer = Study{
	Name:  "cn2d_transfer",
	Title: "2D constant noise, from one number of sensors to another",
	Runs: []RunSpec{
		{Name: "512", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=512"}, Evaluations: otherSensors},
		{Name: "1024", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=1024"}, Evaluations: otherSensors},
		{Name: "2048", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=2048"}, Evaluations: otherSensors},
		{Name: "mixed", Experiment: "cn2d_transfer", Set: []string{"training.sensors=[512,1024,2048]"}, Evaluations: otherSensors},
	},
	Tables: []TableSpec{
		{
			ID:      "cn2d-transfer",
			Title:   "Mean Sinkhorn divergence by sensors in evaluation",
			Source:  "tab:d2_transfer",
			Columns: bySensors(sinkhorn, Mean),
			Rows:    transferRows,
			Notes:   []string{annealed},
		},
		{
			ID:      "cn2d-transfer-converged",
			Title:   "Mean converged Sinkhorn divergence by sensors in evaluation",
			Columns: bySensors(converged, Mean),
			Rows:    transferRows,
		},
		{
			ID:      "cn2d-transfer-above",
			Title:   "Converged Sinkhorn divergence above that of training with 512, mean, by sensors in evaluation",
			Columns: bySensors(converged, Excess),
			Rows:    transferRows,
			Notes:   []string{"Differences are taken field by field. If an interval contains 0, these fields cannot tell the two apart."},
		},
		{
			ID:      "cn2d-transfer-beside",
			Title:   "Compared with other samples",
			Columns: []ColumnSpec{{Metric: sinkhorn, Aggregate: Mean}, {Metric: converged, Aggregate: Mean}, {Metric: slicedW2, Aggregate: Mean}},
			Rows: []RowSpec{
				{Name: "trained and evaluated with 512", Kind: evaluate.Model},
				{Name: "shuffled sensors: the same network, given another field", Kind: evaluate.Shuffled},
				{Name: "MCMC", Kind: evaluate.MCMC},
				{Name: "floor: a second reference set", Kind: evaluate.Floor},
				halves,
				{Name: "moment-matched normal", Kind: evaluate.Moments},
				{Name: "pooled Gaussian", Kind: evaluate.Pooled},
				{Name: "N(0,I)", Kind: evaluate.Normal},
			},
		},
	},
	ConfiguredIn:  "in the text",
	Configuration: with(inPlane, map[string]string{"sensors": "512, 1,024, 2,048 or all in turn", "sensors in evaluation": "512, 1,024, 2,048"}),
}

// inPlane has the paper's settings of all experiments in the plane.
var inPlane = map[string]string{
	"training functions":             "65,536",
	"held-out functions":             "100 of 4,096",
	"samples per training function":  "4,096",
	"samples per reference":          "4,096",
	"training samples":               "Euler–Maruyama",
	"time step":                      "0.01",
	"burn-in time":                   "20",
	"updates":                        "8,192",
	"functions × samples in a batch": "512 × 64",
	"coupling":                       "minibatch optimal transport",
	"optimizer":                      "OneCycle to 0.001, weight decay 0.0001; the optimizer is not named",
	"gradient clipping norm":         "1",
	"precision":                      "bfloat16, mixed",
}

// bySensors has a column for each number of sensors in evaluation.
func bySensors(m Metric, of Aggregate) []ColumnSpec {
	return []ColumnSpec{
		{Metric: m, Aggregate: of, Evaluation: "512", Name: "512 sensors"},
		{Metric: m, Aggregate: of, Evaluation: "1024", Name: "1,024 sensors"},
		{Metric: m, Aggregate: of, Evaluation: "2048", Name: "2,048 sensors"},
	}
}

var (
	ablations = []ColumnSpec{
		{Metric: sinkhorn, Aggregate: Mean}, {Metric: trainSeconds}, {Metric: sinkhorn, Aggregate: Median},
		{Metric: converged, Aggregate: Mean}, {Metric: slicedW2, Aggregate: Mean},
		{Metric: slicedW2, Aggregate: Excess, Name: "sliced W2 above trajectories, mean"}, {Metric: seconds},
	}
	// The row that the ablations are compared with.
	trajectories = RowSpec{Name: "trajectory + Perceiver + AdaLN", Run: "trajectory", Kind: evaluate.Model}
	transferRows = []RowSpec{
		{Name: "trained with 512", Run: "512", Kind: evaluate.Model},
		{Name: "trained with 1,024", Run: "1024", Kind: evaluate.Model},
		{Name: "trained with 2,048", Run: "2048", Kind: evaluate.Model},
		{Name: "trained with all three in turn", Run: "mixed", Kind: evaluate.Model},
	}
	otherSensors = []EvaluationSpec{
		{Name: "512", Set: []string{"evaluation.sensors=512"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "1024", Set: []string{"evaluation.sensors=1024"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "2048", Set: []string{"evaluation.sensors=2048"}, Kinds: []evaluate.Kind{evaluate.Model}},
	}
)

// annealed warns of the paper's metric on samples that are nearly normal.
const annealed = "Sinkhorn is the paper's metric. Annealed with a scaling of 0.5, it stops before it has converged, may be negative, and in the plane ranks normals with the right moments above samples of the target itself. Sinkhorn converged and sliced W2 do not: use those to compare with the normals."
