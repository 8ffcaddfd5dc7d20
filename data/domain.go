package data

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrLeavesDomain means that samples of a family are outside its domain.
var ErrLeavesDomain = errors.New("its samples leave its domain")

// within reports the first sample outside the domain, of functions from first on with that
// many values each.
func within(f family.Family, samples []float32, first, each int) error {
	if at, domain := family.Outside(f, samples); at >= 0 {
		return fmt.Errorf("%s function %d has the sample %g, outside %v: %w", f.Name(), first+at/each, samples[at], domain, ErrLeavesDomain)
	}
	return nil
}

// startsWithin reports a start that reaches out of the domain of a family.
func startsWithin(f family.Family, start simulate.Start) error {
	if start != simulate.InBox {
		return start.Within(family.DomainOf(f))
	}
	if _, ok := f.(family.Spatial); !ok {
		return fmt.Errorf("%q: only a family without a grid has a box", start)
	}
	return nil // a box is within the domain
}

// boundaryWarnings are those of the first of the functions that has any.
func boundaryWarnings(f family.Family, grid sde.Grid, seed uint64) []string {
	confined, ok := f.(family.Confined)
	if !ok || confined.Domain() == sde.WholeLine {
		return nil
	}
	for i := range pilotFunctions {
		b, sigma, ok := confined.Coefficients(seed, i)
		if !ok {
			return nil
		}
		kinds := boundaries(b, sigma, confined.Domain(), (grid.Lo+grid.Hi)/2)
		var warnings []string
		for _, end := range kinds.ends() {
			if end.kind.Attainable() {
				warnings = append(warnings, fmt.Sprintf("%g is a boundary (%s) that chains of %s function %d reach in finite time; the data have the equation of the table instead, which has constant coefficients beyond the grid", end.at, end.kind, f.Name(), i))
			}
		}
		if warnings != nil {
			return warnings
		}
	}
	return nil
}
