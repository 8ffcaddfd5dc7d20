package imports

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// ErrFamily means that functions of a family cannot be imported.
var ErrFamily = errors.New("no equations on a grid that samples of an invariant law could belong to")

// Supported fails with ErrFamily for families whose equations are not those of their fields on
// one grid.
func Supported(f family.Family) error {
	_, err := targetOf(f)
	return err
}

// target is what imported functions must fit.
type target struct {
	family.Family
	family.Stored
	grid sde.Grid
	// of tabulates an equation's formulas.
	of func(e equation) (family.Function, error)
}

// fieldNames are the names of the family's fields, in their order.
func (t target) fieldNames() (names []string) {
	for _, f := range t.Fields() {
		names = append(names, f.Name)
	}
	return names
}

func targetOf(f family.Family) (target, error) {
	t := target{Family: f}
	var ok bool
	if t.Stored, ok = f.(family.Stored); ok {
		switch tabulated := f.(type) {
		case family.Tabulated:
			t.grid = tabulated.Grid()
			t.of = func(e equation) (family.Function, error) { return onLine(e, tabulated) }
			return t, nil
		case family.TabulatedPlane:
			t.grid = tabulated.Grid()
			t.of = func(e equation) (family.Function, error) { return inPlane(e, tabulated) }
			return t, nil
		}
	}
	return target{}, fmt.Errorf("samples cannot be imported for %s: it has %w", f.Name(), ErrFamily)
}

func onLine(e equation, f family.Tabulated) (family.Function, error) {
	if len(e.Drift) != 1 || len(e.Diffusion) != 1 {
		return family.Function{}, fmt.Errorf("%d formulas of the drift and %d of the diffusion: must be one of each on the line", len(e.Drift), len(e.Diffusion))
	}
	b, err := expression.Compile(e.Drift[0])
	if err != nil {
		return family.Function{}, fmt.Errorf("drift: %w", err)
	}
	sigma, err := expression.Compile(e.Diffusion[0])
	if err != nil {
		return family.Function{}, fmt.Errorf("diffusion: %w", err)
	}
	c, err := expression.Tabulate(b, sigma, f.Grid())
	if err != nil {
		return family.Function{}, err
	}
	return f.Of(c)
}

func inPlane(e equation, f family.TabulatedPlane) (family.Function, error) {
	if n := len(e.Diffusion); len(e.Drift) != 2 || n != 1 && n != 2 && n != 4 {
		return family.Function{}, fmt.Errorf("%d formulas of the drift and %d of the diffusion: must be 2, and 1, 2 or 4 in the plane", len(e.Drift), n)
	}
	p, err := family.TabulatePlane(e.Drift, e.Diffusion, f.Grid())
	if err != nil {
		return family.Function{}, err
	}
	return f.Of(p)
}
