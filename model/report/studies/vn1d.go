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
				halves, shuffled,
			}, controls...),
			Notes: []string{"MCMC: Euler–Maruyama with the burn-in of the reference and 64 chains; the paper does not give their number. Target split: one half of the reference's chains against the other half, half as many samples each.", timed},
		},
		{
			ID:      "vn1d-law",
			Title:   "Samples against the exact law, and tests",
			Columns: laws,
			Rows: append([]RowSpec{
				{Name: "model", Kind: evaluate.Model},
				{Name: "MCMC", Kind: evaluate.MCMC},
				halves, shuffled,
			}, controls...),
			Notes: []string{
				"The paper states, without numbers, that the model underestimates the variance and that the Kolmogorov–Smirnov test rejects most functions. The variance ratio is samples over reference (best: 1); KS p < 5 % is the fraction of functions for which the test's p against the reference is below 5 %, draws taken as independent. Those of chains are not, so even the floor has more than 5 %: compare with it (lower is better).",
				"The reference is simulated, as in the paper. Where its chains have not mixed, it is far from the exact law itself, as the floor's row shows.",
			},
		},
		{
			ID:    "vn1d-mixing",
			Title: "Functions whose reference has mixed, and the others",
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
				halves, shuffled,
			}, controls...),
			Notes: []string{"Mixed: functions whose reference is less than W2 0.2 from the exact law. Others: the rest."},
		},
		{
			ID:      "vn1d-budgets",
			Title:   "MCMC at several budgets",
			Columns: slices.Concat(budgeted[:4], laws[:2], []ColumnSpec{{Metric: mixed(sinkhorn), Aggregate: Mean}, {Metric: unmixed(sinkhorn), Aggregate: Mean}}, budgeted[4:]),
			Rows: append(budgetRows("", "budgets", vn1dBudgets),
				RowSpec{Name: "model", Kind: evaluate.Model}, RowSpec{Name: "floor", Kind: evaluate.Floor}),
			Notes: []string{
				"Euler–Maruyama, dt 0.01, 64 chains, a fifth of the steps of each as burn-in. A row is named by the steps that a chain may take. The columns of steps have the number that it took, which is lower, since samples are a whole number of steps apart.",
				"Do not read the mean divergence from the reference as the error of long chains. Where the reference has mixed, they are at least as near to it as its floor. Where it has not, MCMC beyond 10k steps goes on towards the exact law, and away from the reference. The model learned from chains with the burn-in of the reference, has the same error there, and so comes out nearer to it. The columns of the exact law show which samples are nearer to that law; even 500k steps have not reached it on every function.",
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
		"costs":       {Note: "The curve of MCMC rises at its end because the reference is itself simulated: beyond 10k steps MCMC goes on towards the exact law, which is away from the reference where the reference's chains have not mixed."},
	},
	ConfiguredIn: "tab:1d_params",
	Configuration: with(onLine, map[string]string{
		"nodes of the grid":    "64",
		"training samples":     "Euler–Maruyama",
		"time step":            "0.01",
		"burn-in time":         "50",
		"time between samples": "0.1",
	}),
}

// onLine has the paper's settings of both experiments on the line.
var onLine = map[string]string{
	"training functions":             "64,512",
	"held-out functions":             "1,024",
	"samples per training function":  "4,096",
	"samples per reference":          "4,096",
	"network input":                  "drift, diffusion",
	"updates":                        "32,256",
	"functions × samples in a batch": "256 × 32",
	"coupling":                       "minibatch optimal transport",
	"optimizer":                      "AdamW, OneCycle to 0.001, weight decay 0.0001",
	"gradient clipping norm":         "1",
	"precision":                      "bfloat16, mixed",
	"solver":                         "RK4, 4 steps",
}

var (
	vn1dBudgets = budgetsOf("", 0.01, 100, 300, 1_000, 3_000, 10_000, 100_000, 500_000)
	vn1dPoints  = append(budgetPoints("MCMC", "budgets", vn1dBudgets...), CostFigurePoint{"model", RowSpec{Name: "model", Kind: evaluate.Model}})
)

// timed defines the times in tables on the line.
const timed = "Time: wall time to draw all samples of all held-out functions. The model's includes compiling it and loading its parameters; that of MCMC runs from the first step to the last sample. The paper's is for 1,024 functions and its whole program, with loading and start-up."

// Columns and rows that the tables of the one-dimensional experiments share.
var (
	// The paper's columns, and comparisons with the model function by function.
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
		{Metric: rejected, Aggregate: Mean, Name: "KS p < 5 % (fraction)"},
	}
	budgeted = []ColumnSpec{
		{Metric: sinkhorn, Aggregate: Mean}, {Metric: sinkhorn, Aggregate: Median},
		{Metric: w2, Aggregate: Mean}, {Metric: w2, Aggregate: Median},
		{Metric: solveSeconds}, {Metric: steps}, {Metric: sequential},
	}
	trainings = []ColumnSpec{{Metric: updates}, {Metric: trainSeconds}, {Metric: lastLoss, Name: "loss at the end"}}
	// Rows that the paper does not have.
	halves   = RowSpec{Name: "target split", Kind: evaluate.Split}
	shuffled = RowSpec{Name: "shuffled sensors: given another function, first seed", Kind: evaluate.Shuffled, Once: true}
	controls = []RowSpec{
		{Name: "floor: a second reference set", Kind: evaluate.Floor},
		{Name: "moment-matched normal", Kind: evaluate.Moments},
		{Name: "N(0,1)", Kind: evaluate.Normal},
		{Name: "untrained network", Kind: evaluate.Untrained},
	}
)
