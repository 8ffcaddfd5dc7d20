package reproduce

import "github.com/ergoflow/ergoflow/model/evaluate"

// cn2d is the two-dimensional experiment with constant noise: what the network
// reads, how it puts that together, how that acts, and how many sensors it has.
// All evaluations are with 256 sensors but those of the transfer table.
var cn2d = Study{
	Name:  "cn2d",
	Title: "2D constant noise",
	Runs: []Run{
		{Name: "trajectory", Experiment: "cn2d"},
		{Name: "grid", Experiment: "cn2d_grid"},
		{Name: "point", Experiment: "cn2d", Set: []string{"model.sensor.representation=point"}},
		{Name: "endpoint", Experiment: "cn2d", Set: []string{"model.sensor.representation=endpoint"}},
		{Name: "meanpool", Experiment: "cn2d", Set: []string{"model.sensor.aggregator=mean"}},
		{Name: "deepsets", Experiment: "cn2d", Set: []string{"model.sensor.aggregator=deepsets"}},
		{Name: "film", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=film"}},
		{Name: "dot", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=dot"}},
		{Name: "concat", Experiment: "cn2d", Set: []string{"model.sensor.conditioning=concat"}},
		{Name: "sensors64", Experiment: "cn2d", Set: []string{"model.sensor.sensors=64"}},
		{Name: "sensors128", Experiment: "cn2d", Set: []string{"model.sensor.sensors=128"}},
	},
	Tables: []Table{
		{
			ID:      "cn2d",
			Title:   "Representation, aggregator, conditioning",
			Source:  "tab:d2_sinkhorn",
			Columns: ablations,
			Rows: []Row{
				{Name: "grid DeepONet", Run: "grid", Kind: evaluate.Model, Printed: []float64{0.0209, 40.3}},
				{Name: "point + Perceiver + AdaLN", Run: "point", Kind: evaluate.Model, Printed: []float64{0.0415, 87.8}},
				{Name: "endpoint + Perceiver + AdaLN", Run: "endpoint", Kind: evaluate.Model, Printed: []float64{0.0324, 82.8}},
				{Name: "trajectory + Perceiver + AdaLN", Run: "trajectory", Kind: evaluate.Model, Printed: []float64{0.0180, 252.0}},
				{Name: "trajectory + mean pool + AdaLN", Run: "meanpool", Kind: evaluate.Model, Printed: []float64{0.0370, 226.2}},
				{Name: "trajectory + DeepSets + AdaLN", Run: "deepsets", Kind: evaluate.Model, Printed: []float64{0.0246, 238.4}},
				{Name: "trajectory + Perceiver + FiLM", Run: "film", Kind: evaluate.Model, Printed: []float64{0.0169, 258.9}},
				{Name: "floor: a second reference set", Kind: evaluate.Floor},
				{Name: "moment-matched normal", Kind: evaluate.Moments},
				{Name: "N(0,1)", Kind: evaluate.Normal},
			},
		},
		{
			ID:      "cn2d-extra",
			Title:   "More conditionings, fewer sensors in training",
			Source:  "tab:d2_extra",
			Columns: ablations,
			Rows: []Row{
				{Name: "trajectory + Perceiver + dot", Run: "dot", Kind: evaluate.Model, Printed: []float64{0.0203, 248.6}},
				{Name: "trajectory + Perceiver + concat", Run: "concat", Kind: evaluate.Model, Printed: []float64{0.0189, 253.9}},
				{Name: "trajectory + Perceiver + AdaLN, 64 sensors", Run: "sensors64", Kind: evaluate.Model, Printed: []float64{0.0180, 180.1}},
				{Name: "trajectory + Perceiver + AdaLN, 128 sensors", Run: "sensors128", Kind: evaluate.Model, Printed: []float64{0.0187, 303.4}},
			},
		},
	},
	PaperFigures: map[string]string{"samples": "fig:d2_samples"},
	Notes:        []string{"All evaluations are with 256 sensors. The full preset trains with 256 where a row says nothing else, the scaled preset with 64."},
}

// cn2dTransfer trains with one number of sensors, or several in turn, and
// evaluates with each. Its probes are random walks.
var cn2dTransfer = Study{
	Name:  "cn2d_transfer",
	Title: "2D constant noise, from one number of sensors to another",
	Runs: []Run{
		{Name: "512", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=512"}, Evaluations: otherSensors},
		{Name: "1024", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=1024"}, Evaluations: otherSensors},
		{Name: "2048", Experiment: "cn2d_transfer", Set: []string{"model.sensor.sensors=2048"}, Evaluations: otherSensors},
		{Name: "mixed", Experiment: "cn2d_transfer", Set: []string{"training.sensors=[512,1024,2048]"}, Evaluations: otherSensors},
	},
	Tables: []Table{{
		ID:     "cn2d-transfer",
		Title:  "Mean Sinkhorn divergence by sensors in evaluation",
		Source: "tab:d2_transfer",
		Columns: []Column{
			{Metric: sinkhorn, Of: Mean, Evaluation: "512", Name: "512 sensors"},
			{Metric: sinkhorn, Of: Mean, Evaluation: "1024", Name: "1,024 sensors"},
			{Metric: sinkhorn, Of: Mean, Evaluation: "2048", Name: "2,048 sensors"},
		},
		Rows: []Row{
			{Name: "trained with 512", Run: "512", Kind: evaluate.Model, Printed: []float64{0.0284, 0.0172, 0.0131}},
			{Name: "trained with 1,024", Run: "1024", Kind: evaluate.Model, Printed: []float64{0.0287, 0.0175, 0.0125}},
			{Name: "trained with 2,048", Run: "2048", Kind: evaluate.Model, Printed: []float64{0.0312, 0.0184, 0.0131}},
			{Name: "trained with all three in turn", Run: "mixed", Kind: evaluate.Model, Printed: []float64{0.0271, 0.0177, 0.0125}},
		},
	}},
}

var (
	ablations    = []Column{{Metric: sinkhorn, Of: Mean}, {Metric: trainSeconds}, {Metric: sinkhorn, Of: Median}, {Metric: seconds}}
	otherSensors = []Evaluation{
		{Name: "512", Set: []string{"evaluation.sensors=512"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "1024", Set: []string{"evaluation.sensors=1024"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "2048", Set: []string{"evaluation.sensors=2048"}, Kinds: []evaluate.Kind{evaluate.Model}},
	}
)
