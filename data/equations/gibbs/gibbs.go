// Package gibbs knows invariant laws whose densities π are given up to a constant: those of
//
//	dX = ½ A ∇ log π(X) dt + σ dW,  A = σσᵀ constant and invertible.
//
// In the plane the drift of such an equation is recognised, since (∂₁, ∂₂) × 2A⁻¹b = 0. Particles
// with pair forces have such a law by construction. Equations on the line all have one; package
// density integrates it.
package gibbs

import (
	"errors"
	"fmt"
)

// Law is a density π, up to a constant, of an equation with noise σ. Its methods may be called by
// several goroutines at once.
type Law interface {
	// Dim is the dimension d of a state.
	Dim() int
	// At computes log π and its gradient at states x [n, d].
	At(x []float64) Points
	// Next computes both at states x [n, d], to which those of p have moved.
	Next(p Points, x []float64) Points
	// Noise writes σz for every row of z [n, d], in place.
	Noise(z []float64)
	// Drift writes the drift ½A∇log π for gradients [n, d], and Quadratic is uᵀA⁻¹u of a vector.
	Drift(drift, gradient []float64)
	Quadratic(u []float64) float64
}

// Points are states with what a law says of them.
type Points struct {
	X        []float64 // [n, d]
	Log      []float64 // [n], log π up to a constant
	Gradient []float64 // [n, d], of log π
	// Parts are those of the laws of which this one is made, if it is made of others.
	Parts []Points
}

// Accept moves state i to that of to.
func (p Points) Accept(i int, to Points) {
	d := len(p.X) / len(p.Log)
	copy(p.X[i*d:(i+1)*d], to.X[i*d:])
	copy(p.Gradient[i*d:(i+1)*d], to.Gradient[i*d:])
	p.Log[i] = to.Log[i]
	for k := range p.Parts {
		p.Parts[k].Accept(i, to.Parts[k])
	}
}

// ErrNone means that no density is known of an equation.
var ErrNone = errors.New("the density of the law is not known")

// none is an ErrNone with the reason as its text.
type none struct{ reason string }

func (e *none) Error() string { return e.reason }

func (e *none) Is(target error) bool { return target == ErrNone }

func because(format string, values ...any) error { return &none{fmt.Sprintf(format, values...)} }
