package studies

import (
	"slices"

	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
)

// vn1d is the one-dimensional experiment with variable noise.
var vn1d = Study{
	Name:  "vn1d",
	Title: "1D variable noise",
	Runs: []RunSpec{{
		Name:       "vn1d",
		Experiment: "vn1d",
		Evaluations: []EvaluationSpec{{
			Name:    "budgets",
			Kinds:   []evaluate.Kind{evaluate.MCMC},
			Budgets: vn1dBudgets,
		}},
	}},
	Tables: []TableSpec{
		{
			ID:      "vn1d",
			Title:   "Samples against the reference",
			Source:  "tab:1d_vn",
			Columns: distances,
			Rows: append([]RowSpec{
				{Name: "model", Kind: evaluate.Model},
				{Name: "MCMC", Kind: evaluate.MCMC},
				halves, told,
			}, controls...),
			Notes: []string{"MCMC: Euler–Maruyama with the burn-in of the reference, 64 chains; the paper does not say how many. The target split compares two halves of the reference's chains, half as many samples each.", timed},
		},
		{
			ID:      "vn1d-law",
			Title:   "Samples against the exact law, and tests",
			Columns: laws,
			Rows: append([]RowSpec{
				{Name: "model", Kind: evaluate.Model},
				{Name: "MCMC", Kind: evaluate.MCMC},
				halves, told,
			}, controls...),
			Notes: []string{
				"The paper says in words that the model underestimates the variance and that the Kolmogorov–Smirnov test rejects most functions: beside it stand the variance ratio, model over reference, and the fraction that KS rejects.",
				"The reference is simulated, as in the paper: where its chains have not mixed, it is far from the exact law itself (the floor's line).",
			},
		},
		{
			ID:    "vn1d-mixing",
			Title: "Where the reference has mixed, and where not",
			Columns: []ColumnSpec{
				{Metric: mixed(sinkhorn), Aggregate: Mean}, {Metric: mixed(sinkhorn), Aggregate: Median},
				{Metric: unmixed(sinkhorn), Aggregate: Mean}, {Metric: unmixed(sinkhorn), Aggregate: Median},
				{Metric: mixed(w2), Aggregate: Mean}, {Metric: mixed(w2), Aggregate: Median},
				{Metric: unmixed(w2), Aggregate: Mean}, {Metric: unmixed(w2), Aggregate: Median},
				{Metric: mixed(w2Exact), Aggregate: Mean}, {Metric: unmixed(w2Exact), Aggregate: Mean},
			},
			Rows: append([]RowSpec{
				{Name: "model", Kind: evaluate.Model},
				{Name: "MCMC", Kind: evaluate.MCMC},
				halves, told,
			}, controls...),
			Notes: []string{"Mixed functions are those whose reference is less than W2 0.2 from the exact law."},
		},
		{
			ID:      "vn1d-budgets",
			Title:   "MCMC at several budgets",
			Columns: slices.Concat(budgeted[:4], laws[:2], []ColumnSpec{{Metric: mixed(sinkhorn), Aggregate: Mean}, {Metric: unmixed(sinkhorn), Aggregate: Mean}}, budgeted[4:]),
			Rows: append(budgetRows("", "budgets", vn1dBudgets),
				RowSpec{Name: "model", Kind: evaluate.Model}, RowSpec{Name: "floor", Kind: evaluate.Floor}),
			Notes: []string{
				"Euler–Maruyama, dt 0.01, 64 chains, a fifth of the steps of each as burn-in. Rows are called after what a chain may take; the columns of steps have what it took, since samples are whole steps apart.",
				"Do not read the mean divergence from the reference as the error of long chains. Where the reference has mixed, they are at least as near to it as its floor; where it has not, MCMC beyond 10k steps goes on towards the exact law, and away from the reference. The model has learned from chains with the burn-in of the reference, errs there as they do, and so comes out nearer to it. Which samples are nearer to the exact law, its columns say; even 500k steps have not reached it on every function.",
			},
		},
		{
			ID:      "vn1d-training",
			Title:   "Training",
			Source:  "tab:1d_params",
			Columns: trainings,
			Rows:    []RowSpec{{Name: "model", Kind: evaluate.Model}},
		},
	},
	Costs: []CostFigure{
		{Name: "costs", Error: evaluate.Sinkhorn, Points: vn1dPoints},
		{Name: "costs-exact", Error: evaluate.W2Exact, Points: vn1dPoints},
	},
	Figures: map[string]FigureNote{
		"percentiles": {Paper: "fig:1d_vn_samples"},
		"loss":        {Paper: "fig:1d_vn_training"},
		"costs":       {Note: "It turns up because the reference is itself simulated: beyond 10k steps MCMC goes on towards the exact law, and where the reference's chains have not mixed, that is away from the reference."},
	},
	ConfiguredIn: "tab:1d_params",
	Configuration: with(onLine, map[string]string{
		"nodes of the grid":            "64",
		"training samples":             "Euler–Maruyama",
		"time step":                    "0.01",
		"time before the first sample": "50",
		"time between samples":         "0.1",
	}),
}

// onLine are settings that the paper has of both experiments on the line.
var onLine = map[string]string{
	"training functions":                 "64,512",
	"held-out functions":                 "1,024",
	"samples of a training function":     "4,096",
	"samples of a reference":             "4,096",
	"the network is told":                "drift, diffusion",
	"updates":                            "32,256",
	"functions × samples in a batch":     "256 × 32",
	"coupling":                           "minibatch optimal transport",
	"optimizer":                          "AdamW, OneCycle to 0.001, weight decay 0.0001",
	"norm that gradients are clipped to": "1",
	"precision":                          "bfloat16, mixed",
	"solver":                             "RK4, 4 steps",
}

var (
	vn1dBudgets = budgetsOf("", 0.01, 100, 300, 1_000, 3_000, 10_000, 100_000, 500_000)
	vn1dPoints  = append(budgetPoints("MCMC", "budgets", vn1dBudgets...), CostFigurePoint{"model", RowSpec{Name: "model", Kind: evaluate.Model}})
)

// timed says what the times of tables on the line are.
const timed = "Time: of drawing all samples of all held-out functions; of the model with compiling it and loading its parameters, of MCMC from the first step to the last sample. The paper's is of 1,024 functions and of its whole program, loading and start-up included."

// What the tables of the one-dimensional experiments share.
var (
	// The paper's columns and one of ours.
	distances = []ColumnSpec{
		{Metric: sinkhorn, Aggregate: Mean}, {Metric: sinkhorn, Aggregate: Median},
		{Metric: w2, Aggregate: Mean}, {Metric: w2, Aggregate: Median},
		{Metric: seconds},
		{Metric: w2, Aggregate: Closer, Name: "model closer in W2 (fraction)"},
		{Metric: sinkhorn, Aggregate: Excess, Name: "Sinkhorn above the model's, mean"},
		{Metric: w2, Aggregate: Excess, Name: "W2 above the model's, mean"},
	}
	laws = []ColumnSpec{
		{Metric: w2Exact, Aggregate: Mean}, {Metric: w2Exact, Aggregate: Median},
		{Metric: converged, Aggregate: Mean}, {Metric: converged, Aggregate: Median},
		{Metric: variance, Aggregate: Mean}, {Metric: variance, Aggregate: Median},
		{Metric: rejected, Aggregate: Mean, Name: "KS rejects (fraction)"},
	}
	budgeted = []ColumnSpec{
		{Metric: sinkhorn, Aggregate: Mean}, {Metric: sinkhorn, Aggregate: Median},
		{Metric: w2, Aggregate: Mean}, {Metric: w2, Aggregate: Median},
		{Metric: solveSeconds}, {Metric: steps}, {Metric: sequential},
	}
	trainings = []ColumnSpec{{Metric: updates}, {Metric: trainSeconds}, {Metric: lastLoss, Name: "loss at the end"}}
	// Rows that the paper does not have.
	halves   = RowSpec{Name: "target split", Kind: evaluate.Split}
	told     = RowSpec{Name: "shuffled sensors: told of another function, first seed", Kind: evaluate.Shuffled, Once: true}
	controls = []RowSpec{
		{Name: "floor: a second reference set", Kind: evaluate.Floor},
		{Name: "moment-matched normal", Kind: evaluate.Moments},
		{Name: "N(0,1)", Kind: evaluate.Normal},
		{Name: "untrained network", Kind: evaluate.Untrained},
	}
)
