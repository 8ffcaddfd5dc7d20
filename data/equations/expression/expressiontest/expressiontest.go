// Package expressiontest compiles the formulas of tests.
package expressiontest

import (
	"testing"

	"github.com/ergoflow/ergoflow/data/equations/expression"
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
