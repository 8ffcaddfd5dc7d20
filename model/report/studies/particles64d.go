package studies

import "github.com/ergoflow/ergoflow/model/evaluation/evaluate"

// particles64d is the experiment with 32 particles in the plane that interact by
// random pair potentials, which the network observes on pairs of particles. All
// comparisons use observables that do not depend on the order of the particles.
var particles64d = Study{
	Name:  "particles64d",
	Title: "64D interacting particles",
	Runs: []RunSpec{{
		Name:        "particles64d",
		Experiment:  "particles64d",
		Evaluations: finerSteps,
	}},
	Tables: []TableSpec{
		{
			ID:     "particles64d",
			Title:  "Does the network use its input?",
			Source: "tab:d4_ablation; the split in the appendix on particles",
			Columns: []ColumnSpec{
				{Metric: features, Aggregate: Mean}, {Metric: features, Aggregate: Median},
				{Metric: features, Aggregate: Closer, Name: "correct sensors closer (fraction)"},
				{Metric: slicedW2, Aggregate: Mean}, {Metric: variance, Aggregate: Median}, {Metric: seconds},
			},
			Rows: particleRows,
			Notes: []string{
				"Feature distance: sliced W2 of 13 features that do not depend on the order of the particles, each in standard deviations of the kernel's reference. The paper defines neither its features nor whether its score is squared; its floor shows that it is not.",
				"Target split: one half of the reference's chains against the other half, half as many samples each. Floor: a second, independent reference set, the best possible.",
				"Sliced W2 of coordinates depends on the order of the particles. Simulated states come from few chains, with many states shortly after one another, between which particles hardly move: two such sets are about as far apart as two sets with one state per chain. A smooth law, even a normal with the moments of the first set, may come out nearer to it than a second reference set. So this column is evidence neither for a row nor against it; use the feature distance.",
			},
		},
		{
			ID:     "particles64d-observables",
			Title:  "Observables",
			Source: "tab:d4_obs_metrics",
			Columns: []ColumnSpec{
				{Metric: radial, Aggregate: Mean}, {Metric: radial, Aggregate: Median}, {Metric: radialPooled},
				{Metric: marginal, Aggregate: Mean}, {Metric: marginalPooled},
				{Metric: energyKS, Aggregate: Mean}, {Metric: energyKSPooled},
			},
			Rows: particleRows,
			Notes: []string{
				"Pooled: all states of all kernels at once. The paper prints one number of g(r) and a \"mean marginal KL\" and does not say whether kernels are pooled: each number stands beside both readings.",
				"Pooled g(r) and marginals do not show which kernel the network was given: shuffled sensors are those of the same kernels in another order, so they may come out as well as the correct ones. Energies use the kernel of the evaluated function, so they do show it. Pooled, however, too high energies of one kernel may cancel too low ones of another.",
				"g(r) is normalised by a disc of radius 8 about each particle. KL: of one particle's coordinate, with all particles of a state pooled, in 50 bins. N and M independent positions from the same law are 24.5·(1/N + 1/M) apart.",
			},
		},
		{
			ID:     "particles64d-energies",
			Title:  "Energies, pooled over all kernels",
			Source: "tab:d4_obs_metrics",
			Columns: []ColumnSpec{
				{Metric: energyMean}, {Metric: energyMeanRef}, {Metric: energyMeanOff}, {Metric: energyMeanShift},
				{Metric: energyStd}, {Metric: energyStdRef}, {Metric: energyStdOff},
			},
			Rows: particleRows,
			Notes: []string{
				"The paper does not give its ranges of kernels, and no ranges that we tried have energies as large: compare errors, not energies. Our mean energy is near zero, so its relative error says little; use the error in standard deviations of the reference.",
				capped,
			},
		},
		{
			ID:      "particles64d-solver",
			Title:   "Steps of the solver, on the first 8 kernels",
			Columns: []ColumnSpec{{Metric: features, Aggregate: Mean}, {Metric: features, Aggregate: Median}, {Metric: radial, Aggregate: Mean}, {Metric: solveSeconds}},
			Rows:    finerRows,
			Notes:   []string{"Both start from the same noise. The paper does not name its solver in 64 dimensions."},
		},
		{
			ID:      "particles64d-training",
			Title:   "Training",
			Source:  "in the text",
			Columns: trainings,
			Rows:    []RowSpec{{Name: "model", Kind: evaluate.Model}},
			Notes:   []string{"The paper gives no time for training alone: on its RTX 5090, data, training, evaluation and plots take about 40 minutes together, most of it for the data. Ours are in the table of runs below."},
		},
	},
	Figures:      map[string]FigureNote{"radial": {Paper: "fig:d4_gr"}, "energy": {Paper: "fig:d4_energy", Note: "Horizontal axis: energy of a state; vertical axis: density."}},
	ConfiguredIn: "in the text",
	Configuration: map[string]string{
		"training functions":             "2,048",
		"held-out functions":             "100 of 512",
		"samples per training function":  "4,096",
		"samples per reference":          "4,096",
		"training samples":               "Euler–Maruyama",
		"time step":                      "0.001",
		"burn-in time":                   "100",
		"chains per function":            "16",
		"sensors":                        "512",
		"parameters":                     "1.78M",
		"updates":                        "2,048",
		"functions × samples in a batch": "4,096 pairs",
		"optimizer":                      "learning rate 0.001; the optimizer is not named",
	},
}

var (
	particleRows = []RowSpec{
		{Name: "correct sensors", Kind: evaluate.Model},
		{Name: "shuffled sensors: those of another kernel", Kind: evaluate.Shuffled},
		{Name: "pooled Gaussian", Kind: evaluate.Pooled},
		{Name: "N(0,I)", Kind: evaluate.Normal},
		{Name: "target split", Kind: evaluate.Split},
		{Name: "floor: a second reference set", Kind: evaluate.Floor},
		{Name: "MCMC, a tenth of the burn-in", Kind: evaluate.MCMC},
		{Name: "moment-matched normal", Kind: evaluate.Moments},
		{Name: "untrained network", Kind: evaluate.Untrained},
	}

	// The paper names no solver here. A few functions compare four steps of RK4 with
	// sixteen.
	finerSteps = []EvaluationSpec{
		{Name: "rk4-4", Functions: 8, Set: []string{"evaluation.solver=rk4-4"}, Kinds: []evaluate.Kind{evaluate.Model}},
		{Name: "rk4-16", Functions: 8, Set: []string{"evaluation.solver=rk4-16"}, Kinds: []evaluate.Kind{evaluate.Model}},
	}
	finerRows = []RowSpec{
		{Name: "RK4, 4 steps", Evaluation: "rk4-4", Kind: evaluate.Model},
		{Name: "RK4, 16 steps", Evaluation: "rk4-16", Kind: evaluate.Model},
	}
)

// capped explains what the paper's time step does to its capped kernels.
const capped = "References are simulated as in the paper: steps of 0.001, and no force where a pair potential is above its cap of 10. Steps of that size jump over the steep wall of narrow WCA and Morse kernels, so a few pairs end up inside it, each with an energy of 10, which the Boltzmann law allows once in 10⁸. They make the peak of g(r) at r = 0. It stays after the whole burn-in and disappears with smaller steps (docs/decisions/particle-observables.md)."
