package request

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// onLine puts the formulas on the grid of a family on the line.
func (r Request) onLine(tabulated family.Tabulated) (Target, error) {
	for _, part := range []struct {
		input    string
		formulas []string
	}{{"drift", r.Drift}, {"diffusion", r.Diffusion}} {
		if n := len(part.formulas); n != 1 {
			return Target{}, &InputError{part.input, ErrCount, fmt.Errorf("%d formulas, want one on the line", n)}
		}
	}
	b, err := r.compile("drift", r.Drift[0])
	if err != nil {
		return Target{}, err
	}
	sigma, err := r.compile("diffusion", r.Diffusion[0])
	if err != nil {
		return Target{}, err
	}
	grid := tabulated.Grid()
	c, err := expression.Tabulate(b, sigma, grid)
	var fine sde.Coefficients // poles and zeros may lie between the model's nodes
	if err == nil {
		fine, err = expression.Tabulate(b, sigma, family.FinerGrid(grid, 1))
	}
	if err == nil {
		if where := family.Vanishes([]*expression.Expression{sigma}, grid, 1); where != "" {
			err = fmt.Errorf("it vanishes at %s, between two nodes of the model's grid, and is %w", where, sde.ErrNotPositive)
		}
	}
	switch {
	case errors.Is(err, sde.ErrNotPositive):
		return Target{}, &EquationError{"diffusion", grid, err}
	case errors.Is(err, sde.ErrNotFinite):
		return Target{}, &EquationError{"", grid, err}
	case err != nil:
		return Target{}, err
	}
	_, timed := tabulated.(family.Timed)
	if !timed { // at a finite time there is always a law
		if err := density.Normalisable(c); err != nil {
			return Target{}, &EquationError{"drift", grid, err}
		}
	}
	function, err := tabulated.Of(c)
	if err != nil {
		return Target{}, err
	}
	t := Target{Subject: flow.Subject{Function: function}, Warnings: betweenNodes(c, fine)}
	if !timed {
		t.formulas = repair.Equation{Formulas: expression.NewEquation(b, sigma).Bind, Drift: b.Eval, Diffusion: sigma.Eval}
		t.later = func(t *Target) {
			var warnings []string
			t.tabulated, _ = density.New(c) // nil if it is too steep
			t.subject, t.line, warnings = lawOf(b, sigma, c, t.tabulated)
			t.Warnings = append(t.Warnings, warnings...)
		}
	}
	return t, nil
}

func (r Request) compile(input, formula string) (*expression.Expression, error) {
	compiled, err := r.Parameters.Compile(formula, "x")
	if err != nil {
		return nil, &InputError{input, ErrFormula, err}
	}
	return compiled, nil
}
