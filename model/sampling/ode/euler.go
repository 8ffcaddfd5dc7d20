package ode

import (
	"context"
	"fmt"
)

// Euler is the explicit Euler method with equal steps h = (t1-t0)/Steps:
//
//	x ← x + h v(x, t).
//
// Order 1, one evaluation per step (Euler, Institutiones calculi integralis,
// 1768, §650).
type Euler struct {
	Steps int // at least 1
}

func (e Euler) String() string { return fmt.Sprintf("euler-%d", e.Steps) }

// Integrate implements Solver.
func (e Euler) Integrate(ctx context.Context, field Field, x []float32, t0, t1 float64) (int, error) {
	tableau := fixed{
		nodes:   []float64{0},
		rows:    [][]float64{nil},
		weights: []float64{1},
	}
	return tableau.integrate(ctx, e.String(), e.Steps, field, x, t0, t1)
}
