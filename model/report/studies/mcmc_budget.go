package studies

import (
	"fmt"
	"strconv"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/evaluation/evaluate"
	"github.com/ergoflow/ergoflow/model/experiment"
)

// Budget is an Euler–Maruyama row by what it may cost.
type MCMCBudget struct {
	Name  string
	DT    float64
	Steps int // per chain at most, a fifth of them burn-in
}

// budgetChains is how many chains share a budget's samples (C4).
const budgetChains = 64

// budgetsOf are budgets of so many steps of dt, called after them.
func budgetsOf(prefix string, dt float64, steps ...int) []MCMCBudget {
	all := make([]MCMCBudget, len(steps))
	for i, n := range steps {
		all[i] = MCMCBudget{prefix + amount(n) + " steps", dt, n}
	}
	return all
}

// budgetRows are lines of a table, one of every budget of an evaluation.
func budgetRows(prefix, evaluation string, budgets []MCMCBudget) []RowSpec {
	rows := make([]RowSpec, len(budgets))
	for i, b := range budgets {
		rows[i] = RowSpec{Name: prefix + amount(b.Steps) + " steps", Evaluation: evaluation, Kind: evaluate.MCMC, Label: b.Name}
	}
	return rows
}

// budgetPoints are the same as points of a figure.
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

// MCMCRows are the MCMC rows of an evaluation: the preset's where there are no
// others. The first sample of a chain follows its burn-in; the others are as far
// apart, in whole steps, as lets the last be within the budget. So up to a step for
// every sample is left unused: 83 of 100 steps are taken for 64 samples.
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
