package sde

import (
	"errors"
	"fmt"
	"math"
)

// Coefficients is the pair (b, σ) on a grid: linear between nodes, constant
// outside (lookups are clamped to the boundary). Drift and Diffusion have
// Grid.N values each.
type Coefficients struct {
	Grid      Grid
	Drift     []float32
	Diffusion []float32
}

// ErrNotPositive means a diffusion on the line that is zero or negative.
var ErrNotPositive = errors.New("not positive")

// Validate reports lengths that differ from the grid, values that are not
// finite (ErrNotFinite) and diffusions that are not positive (ErrNotPositive).
func (c Coefficients) Validate() error {
	if err := c.Grid.Validate(); err != nil {
		return err
	}
	if len(c.Drift) != c.Grid.N || len(c.Diffusion) != c.Grid.N {
		return fmt.Errorf("drift has %d and diffusion %d values on a grid of %d nodes",
			len(c.Drift), len(c.Diffusion), c.Grid.N)
	}
	for i, b := range c.Drift {
		if !finite(b) {
			return fmt.Errorf("drift %v at x = %.6g: %w", b, c.Grid.At(i), ErrNotFinite)
		}
	}
	for i, s := range c.Diffusion {
		switch {
		case !finite(s):
			return fmt.Errorf("diffusion %v at x = %.6g: %w", s, c.Grid.At(i), ErrNotFinite)
		case s <= 0:
			return fmt.Errorf("diffusion %v at x = %.6g is %w", s, c.Grid.At(i), ErrNotPositive)
		}
	}
	return nil
}

func finite(v float32) bool { return v-v == 0 } // false for infinities and NaN

// DriftAt is b(x).
func (c Coefficients) DriftAt(x float64) float64 { return interpolate(c.Grid, c.Drift, x) }

// DiffusionAt is σ(x).
func (c Coefficients) DiffusionAt(x float64) float64 { return interpolate(c.Grid, c.Diffusion, x) }

func interpolate(g Grid, values []float32, x float64) float64 {
	u := (x - g.Lo) / g.Step()
	switch {
	case math.IsNaN(u):
		return u
	case u <= 0:
		return float64(values[0])
	case u >= float64(g.N-1):
		return float64(values[g.N-1])
	}
	i := int(u)
	left, right := float64(values[i]), float64(values[i+1])
	return left + (right-left)*(u-float64(i))
}
