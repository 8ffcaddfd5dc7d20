package main

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// inPlane puts formulas in x and y on the grid of the experiment's family, and warns
// of a drift that is far from those of the training set or points outward, and of what
// the model does not see between its nodes.
func inPlane(e experiment.Experiment, f family.TabulatedPlane, drift, diffusion []string) (flow.Subject, []string, error) {
	if n := len(diffusion); len(drift) != 2 || n != 1 && n != 2 && n != 4 {
		return flow.Subject{}, nil, withHint(usagef("in the plane --drift is given twice, and --diffusion once, twice or four times"),
			`--drift "y" --drift "x - x^3 - y" --diffusion "1"`)
	}
	grid := f.Grid()
	p, err := family.NewPlane(drift, diffusion, grid)
	var fine sde.Plane // a pole or a zero may be between the model's nodes
	if err == nil {
		fine, err = family.NewPlane(drift, diffusion, family.Finer(grid, 2))
	}
	switch {
	case errors.Is(err, sde.ErrNotFinite):
		return flow.Subject{}, nil, withHint(err, "drift and diffusion have to be finite on the model's grid, %g…%g each way", grid.Lo, grid.Hi)
	case err != nil:
		return flow.Subject{}, nil, withHint(usage(fmt.Errorf("--%w", err)), "formulas are in x and y")
	}
	function, err := f.Of(p)
	if err != nil {
		return flow.Subject{}, nil, withHint(usage(fmt.Errorf("--diffusion: %w", err)),
			"give the diffusion of the model's family; a network knows no other kind than it was trained with")
	}
	warnings, err := strangeInPlane(e, p)
	return flow.Subject{Function: function}, append(unseen(p, fine), warnings...), err
}

// strangeInPlane compares a drift with the first functions of the training set, since
// networks that observe equations keep no statistics of their coefficients.
func strangeInPlane(e experiment.Experiment, p sde.Plane) ([]string, error) {
	const functions = 16
	longest := 0.0
	for i := range functions {
		trained, err := functionOf(e, e.Data.TrainingFunction(i))
		if err != nil {
			return nil, err
		}
		longest = max(longest, longestDrift(trained.Function.System.(sde.Plane)))
	}
	var warnings []string
	if got := longestDrift(p); got > 2*longest {
		warnings = append(warnings, fmt.Sprintf("the drift reaches %.4g on the grid, that of %d training functions %.4g: the model has hardly seen such, and its samples may be wrong",
			got, functions, longest))
	}
	if outward(p) > 0 {
		warnings = append(warnings, "on the whole the drift points out of the grid: there may be no invariant law")
	}
	return warnings, nil
}

func longestDrift(p sde.Plane) float64 {
	longest := 0.0
	for n := range p.Nodes() {
		longest = max(longest, math.Hypot(float64(p.Drift[2*n]), float64(p.Drift[2*n+1])))
	}
	return longest
}

// outward is the sum of b·n over the nodes of the grid's boundary. Single nodes may
// have b·n > 0 without harm, as where a rotation crosses the boundary.
func outward(p sde.Plane) float64 {
	sum := 0.0
	at := func(i, j, component int) float64 { return float64(p.Drift[2*(j*p.X.N+i)+component]) }
	for j := range p.Y.N {
		sum += at(p.X.N-1, j, 0) - at(0, j, 0)
	}
	for i := range p.X.N {
		sum += at(i, p.Y.N-1, 1) - at(i, 0, 1)
	}
	return sum
}
