// Package sde describes stochastic differential equations dX = b(X)dt + σ(X)dW:
// on the line and in the plane by coefficients on uniform grids, and interacting
// particles by their pair force.
package sde

import (
	"errors"
	"fmt"
	"math"
)

// MaxNodes bounds a grid, so that a size from a file cannot exhaust memory.
const MaxNodes = 1 << 20

// Grid is a uniform grid on [Lo, Hi] with N nodes, both end points included.
type Grid struct {
	Lo float64 `json:"lo" yaml:"lo"`
	Hi float64 `json:"hi" yaml:"hi"`
	N  int     `json:"n" yaml:"n"`
}

// Validate reports a grid that is empty, unbounded or too large.
func (g Grid) Validate() error {
	switch {
	case g.N < 2 || g.N > MaxNodes:
		return fmt.Errorf("grid has %d nodes, want 2 to %d", g.N, MaxNodes)
	case math.IsNaN(g.Hi-g.Lo) || math.IsInf(g.Hi-g.Lo, 0):
		return fmt.Errorf("grid [%v, %v] is not bounded", g.Lo, g.Hi)
	case g.Hi <= g.Lo:
		return fmt.Errorf("grid [%v, %v] is empty", g.Lo, g.Hi)
	}
	return nil
}

// Step is the distance between neighbouring nodes.
func (g Grid) Step() float64 { return (g.Hi - g.Lo) / float64(g.N-1) }

// At is the position of node i.
func (g Grid) At(i int) float64 {
	if i == g.N-1 {
		return g.Hi
	}
	return g.Lo + float64(i)*g.Step()
}

// Cell is the cell of x between nodes i and i+1, or the nearest, and the position of x in it,
// from 0 to 1.
func (g Grid) Cell(x float64) (i int, t float64) {
	u := min(max((x-g.Lo)/g.Step(), 0), float64(g.N-1))
	i = min(int(u), g.N-2)
	return i, u - float64(i)
}

// ErrNotFinite means a coefficient that is NaN or infinite.
var ErrNotFinite = errors.New("not finite")
