// Package expressiontest compiles the formulas of tests.
package expressiontest

import (
	"slices"
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Line compiles drift and diffusion of an equation on the line. It ends the test if it cannot.
func Line(t testing.TB, drift, diffusion string) (b, sigma *expression.Expression) {
	t.Helper()
	b, err := expression.Compile(drift)
	if err != nil {
		t.Fatal(err)
	}
	if sigma, err = expression.Compile(diffusion); err != nil {
		t.Fatal(err)
	}
	return b, sigma
}

// Space is the equation of one formula each for drift and diffusion in dim coordinates, in the box
// [-4, 4]. It ends the test if it cannot be.
func Space(t testing.TB, dim int, drift, diffusion string) sde.Space {
	t.Helper()
	s, err := expression.CompileSystem(dim, []string{drift}, []string{diffusion}, nil)
	if err != nil {
		t.Fatal(err)
	}
	space, err := s.Space(slices.Repeat([]sde.Interval{{Lo: -4, Hi: 4}}, dim), nil)
	if err != nil {
		t.Fatal(err)
	}
	return space
}
