package request

import (
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/wells"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// inPlane puts the formulas on the grid of a family in the plane.
func (r Request) inPlane(tabulated family.TabulatedPlane) (Target, error) {
	if n := len(r.Drift); n != 2 {
		return Target{}, &InputError{"drift", ErrCount, fmt.Errorf("%d formulas, want two in the plane", n)}
	}
	if n := len(r.Diffusion); n != 1 && n != 2 && n != 4 {
		return Target{}, &InputError{"diffusion", ErrCount, fmt.Errorf("%d formulas, want one, two or four in the plane", n)}
	}
	var drift, sigma []*expression.Expression
	for _, part := range []struct {
		input    string
		formulas []string
		to       *[]*expression.Expression
	}{{"drift", r.Drift, &drift}, {"diffusion", r.Diffusion, &sigma}} {
		for k, formula := range part.formulas {
			compiled, err := r.Parameters.Compile(formula, "x", "y")
			if err != nil {
				return Target{}, &InputError{part.input, ErrPlaneFormula, fmt.Errorf("formula %d: %w", k+1, err)}
			}
			*part.to = append(*part.to, compiled)
		}
	}
	grid := tabulated.Grid()
	p, err := family.TabulatePlaneOf(drift, sigma, grid)
	var fine sde.Plane // poles may lie between the model's nodes
	if err == nil {
		fine, err = family.TabulatePlaneOf(drift, sigma, family.FinerGrid(grid, 2))
	}
	if errors.Is(err, sde.ErrNotFinite) {
		return Target{}, &EquationError{"", grid, err}
	}
	if err == nil {
		if where := family.Vanishes(sigma, grid, 2); where != "" {
			return Target{}, &EquationError{"diffusion", grid, fmt.Errorf("it vanishes at %s, between two nodes of the model's grid, and is %w", where, sde.ErrNotPositive)}
		}
	}
	var function family.Function
	if err == nil {
		function, err = tabulated.Of(p)
	}
	if err != nil { // negative, no noise at all, or not of the family's kind
		return Target{}, &InputError{"diffusion", ErrDiffusion, err}
	}
	formulas := certificate.OfFormulas(drift, sigma)
	return Target{
		Subject: flow.Subject{Function: function}, Warnings: append(betweenNodes(p, fine), outward(p)...),
		subject: certificate.Subject{Equation: formulas, Wells: wells.For(formulas.Space(grid)), Unlearned: math.NaN()},
	}, nil
}
