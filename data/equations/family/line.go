package family

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// line has the methods that all families with drift and diffusion on one grid of the line
// share.
type line struct{ grid sde.Grid }

func (line) Dim() int { return 1 }

func (l line) Grid() sde.Grid { return l.grid }

func (l line) Fields() []Field {
	return []Field{{Name: "drift", Shape: []int{l.grid.N}}, {Name: "diffusion", Shape: []int{l.grid.N}}}
}

// Of refuses another grid, values that are not finite, and diffusions that are not positive.
func (l line) Of(c sde.Coefficients) (Function, error) {
	if c.Grid != l.grid {
		return Function{}, fmt.Errorf("coefficients on the grid %+v, not %+v", c.Grid, l.grid)
	}
	if err := c.Validate(); err != nil {
		return Function{}, err
	}
	return Function{System: c, Fields: [][]float32{c.Drift, c.Diffusion}}, nil
}

// Restore makes the function with this drift and diffusion.
func (l line) Restore(fields [][]float32) (Function, error) {
	if len(fields) != 2 {
		return Function{}, fmt.Errorf("%d fields: must be drift and diffusion", len(fields))
	}
	return l.Of(sde.Coefficients{Grid: l.grid, Drift: fields[0], Diffusion: fields[1]})
}

// function is Of, with errors that name the family and the function.
func (l line) function(family string, i int, c sde.Coefficients) (Function, error) {
	f, err := l.Of(c)
	if err != nil {
		return Function{}, fmt.Errorf("%s function %d: %w", family, i, err)
	}
	return f, nil
}
