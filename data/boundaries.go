package data

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Boundaries are Feller's kinds of the ends of an equation's domain, for chains that start
// inside. A kind is empty where it cannot be decided.
type Boundaries struct {
	Domain simulate.Domain
	Lo, Hi density.Boundary
}

// BoundariesOf decides the kinds of both ends of a domain from its inside, x.
func BoundariesOf(engine *simulate.Engine, equation simulate.Equation, domain simulate.Domain, x float64) Boundaries {
	return boundaries(
		func(dst, x []float64) { b, _ := engine.Evaluate(equation, x); copy(dst, b) },
		func(dst, x []float64) { _, sigma := engine.Evaluate(equation, x); copy(dst, sigma) }, domain, x)
}

func boundaries(b, sigma density.Coefficient, domain simulate.Domain, x float64) Boundaries {
	at := func(end float64) density.Boundary {
		kind, err := density.BoundaryAt(b, sigma, end, x)
		if err != nil {
			return ""
		}
		return kind
	}
	return Boundaries{domain, at(domain.Lo), at(domain.Hi)}
}

// ErrLeavesDomain means that samples of a family are outside its domain.
var ErrLeavesDomain = errors.New("its samples leave its domain")

// domainOf is the domain of a family, and whether it is not the whole line.
func domainOf(f family.Family) (domain simulate.Domain, confined bool) {
	if f, ok := f.(family.Confined); ok {
		return f.Domain(), f.Domain() != simulate.WholeLine
	}
	return simulate.WholeLine, false
}

// within reports the first sample outside the domain, of functions from first on with that
// many samples each.
func within(f family.Family, samples []float32, first, each int) error {
	domain, confined := domainOf(f)
	if !confined {
		return nil
	}
	for i, x := range samples {
		if !domain.Contains(float64(x)) {
			return fmt.Errorf("%s function %d has the sample %g, outside %v: %w", f.Name(), first+i/each, x, domain, ErrLeavesDomain)
		}
	}
	return nil
}

// boundaryWarnings are those of the first of the functions that has any.
func boundaryWarnings(f family.Family, grid sde.Grid, seed uint64) []string {
	confined, ok := f.(family.Confined)
	if !ok || confined.Domain() == simulate.WholeLine {
		return nil
	}
	for i := range pilotFunctions {
		b, sigma, ok := confined.Coefficients(seed, i)
		if !ok {
			return nil
		}
		kinds := boundaries(b, sigma, confined.Domain(), (grid.Lo+grid.Hi)/2)
		var warnings []string
		for _, end := range []struct {
			at   float64
			kind density.Boundary
		}{{kinds.Domain.Lo, kinds.Lo}, {kinds.Domain.Hi, kinds.Hi}} {
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

// Warnings say what happens at boundaries that chains reach.
func (b Boundaries) Warnings() (warnings []string) {
	for _, end := range []struct {
		at   float64
		kind density.Boundary
	}{{b.Domain.Lo, b.Lo}, {b.Domain.Hi, b.Hi}} {
		switch end.kind {
		case density.Exit:
			warnings = append(warnings, fmt.Sprintf("%g is an exit boundary: chains reach it in finite time and never come back, so there is no invariant law in %v", end.at, b.Domain))
		case density.Regular:
			warnings = append(warnings, fmt.Sprintf("%g is a regular boundary: chains reach it in finite time, and the formulas do not say what they do there; the simulation ends where one leaves %v", end.at, b.Domain))
		}
	}
	return warnings
}

// Crossed is the kind of the end that a chain crossed when it left the domain.
func (b Boundaries) Crossed(e *simulate.DivergedError) density.Boundary {
	if e.To <= b.Domain.Lo {
		return b.Lo
	}
	return b.Hi
}

// odeSteps bounds the steps of Explodes.
const odeSteps = 20_000

// Explodes says whether chains of an equation diverged because of the equation, not of the
// time step: without noise a solution from their starts leaves ±1e6 in the time that they
// took, or X reaches infinity in finite time.
func Explodes(engine *simulate.Engine, equation simulate.Equation, s simulate.Scheme, seed uint64, e *simulate.DivergedError) bool {
	law, err := s.Start.Along(0)
	if err != nil {
		return false
	}
	centre := simulate.Centre(law)
	if b, _ := engine.Evaluate(equation, []float64{e.From}); (e.To-centre)*b[0] < 0 { // leads back; the step went too far
		return false
	}
	if b := BoundariesOf(engine, equation, simulate.WholeLine, centre); e.To > centre && b.Hi.Attainable() || e.To < centre && b.Lo.Attainable() {
		return true
	}
	s.BurnIn, s.Thin, s.Chains = 0, 1, pilotChains
	x := make([]float64, pilotChains)
	if err := engine.EulerMaruyamaFunc(context.Background(), x, equation, simulate.WholeLine, s, seed, 0, pilotPurpose, nil); err != nil {
		return false
	}
	left := make([]float64, len(x)) // time of each solution
	for i := range left {
		left[i] = s.DT * float64(e.Step+1)
	}
	for range odeSteps {
		drift, _ := engine.Evaluate(equation, x)
		moving := false
		for i, b := range drift {
			// Euler's method with steps of a fiftieth of the state's size.
			step := min(left[i], 0.02*(1+math.Abs(x[i]))/math.Abs(b))
			if !(step > 0) || b == 0 {
				continue
			}
			moving = true
			x[i], left[i] = x[i]+b*step, left[i]-step
			if !(math.Abs(x[i]) < simulate.Bound) {
				return true
			}
		}
		if !moving {
			return false
		}
	}
	return false
}
