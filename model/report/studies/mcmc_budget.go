package studies

import (
	"fmt"
	"strconv"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// MCMCBudget is an Euler–Maruyama row, given by the steps that a chain may take. Its
// name enters random streams and cache keys: a new name makes new samples.
type MCMCBudget struct {
	Name  string
	DT    float64
	Steps int // per chain at most, a fifth of them burn-in
}

// budgetChains is how many chains share a budget's samples. The paper gives no number.
const budgetChains = 64

// budgetsOf are budgets of these numbers of steps of dt, named by their steps.
func budgetsOf(prefix string, dt float64, steps ...int) []MCMCBudget {
	all := make([]MCMCBudget, len(steps))
	for i, n := range steps {
		all[i] = MCMCBudget{prefix + amount(n) + " steps", dt, n}
	}
	return all
}

// budgetRows are rows of a table, one per budget of an evaluation.
func budgetRows(prefix, evaluation string, budgets []MCMCBudget) []RowSpec {
	rows := make([]RowSpec, len(budgets))
	for i, b := range budgets {
		rows[i] = RowSpec{Name: prefix + amount(b.Steps) + " steps", Evaluation: evaluation, Kind: evaluate.MCMC, Label: b.Name}
	}
	return rows
}

// budgetPoints are the budgets of an evaluation as points of a figure.
func budgetPoints(series, evaluation string, budgets ...MCMCBudget) []CostFigurePoint {
	points := make([]CostFigurePoint, len(budgets))
	for i, row := range budgetRows("", evaluation, budgets) {
		row.Name = amount(budgets[i].Steps)
		points[i] = CostFigurePoint{series, row}
	}
	return points
}

// amount writes 300, 23k and 5M.
func amount(steps int) string {
	switch {
	case steps >= 1e6 && steps%1e6 == 0:
		return strconv.Itoa(steps/1e6) + "M"
	case steps >= 1e3 && steps%1e3 == 0:
		return strconv.Itoa(steps/1e3) + "k"
	}
	return strconv.Itoa(steps)
}

// MCMCRows are the MCMC rows of an evaluation: those of the budgets, or of the preset
// where there are none. A chain takes its first sample after the burn-in and the others
// at equal distances, the largest whole number of steps that keeps the last sample
// within the budget. Up to one step per sample stays unused: 64 samples take 83 of 100
// steps.
func MCMCRows(v experiment.Evaluation, wanted []MCMCBudget) ([]experiment.MCMC, error) {
	if len(wanted) == 0 {
		return v.MCMC, nil
	}
	rows := make([]experiment.MCMC, len(wanted))
	for i, b := range wanted {
		chains := min(budgetChains, v.Samples)
		perChain := v.Samples / chains
		burnIn := b.Steps / 5
		if perChain < 2 || b.Steps-burnIn < perChain-1 {
			return nil, fmt.Errorf("budget %s: %d steps are too few for %d samples of each of %d chains", b.Name, b.Steps, perChain, chains)
		}
		rows[i] = experiment.MCMC{Name: b.Name, Scheme: simulate.Scheme{
			DT: b.DT, BurnIn: burnIn, Thin: (b.Steps - burnIn) / (perChain - 1), Chains: chains}}
	}
	return rows, nil
}
