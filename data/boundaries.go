package data

import (
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Boundaries are Feller's kinds of the ends of an equation's domain, for chains that start
// inside. A kind is empty where it cannot be decided.
type Boundaries struct {
	Domain sde.Range
	Lo, Hi density.Boundary
}

// end is an end of a domain and its kind.
type end struct {
	at   float64
	kind density.Boundary
}

func (b Boundaries) ends() [2]end { return [2]end{{b.Domain.Lo, b.Lo}, {b.Domain.Hi, b.Hi}} }

// BoundariesOf decides the kinds of both ends of a domain from its inside, x.
func BoundariesOf(engine *simulate.Engine, equation simulate.Equation, domain sde.Range, x float64) Boundaries {
	return boundaries(
		func(dst, x []float64) { b, _ := engine.Evaluate(equation, x); copy(dst, b) },
		func(dst, x []float64) { _, sigma := engine.Evaluate(equation, x); copy(dst, sigma) }, domain, x)
}

func boundaries(b, sigma density.Coefficient, domain sde.Range, x float64) Boundaries {
	at := func(end float64) density.Boundary {
		kind, err := density.BoundaryAt(b, sigma, end, x)
		if err != nil {
			return ""
		}
		return kind
	}
	return Boundaries{domain, at(domain.Lo), at(domain.Hi)}
}

// Warnings say what happens at boundaries that chains reach.
func (b Boundaries) Warnings() (warnings []string) {
	for _, end := range b.ends() {
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
