package ode

import (
	"context"
	"fmt"
)

// RK4 is the classical Runge–Kutta method with equal steps h = (t1-t0)/Steps:
//
//	 0  |
//	1/2 | 1/2
//	1/2 |  0  1/2
//	 1  |  0   0   1
//	----+----------------
//	    | 1/6 1/3 1/3 1/6
//
// Order 4, four evaluations per step (Kutta 1901; Hairer, Nørsett & Wanner,
// Solving Ordinary Differential Equations I, table II.1.2).
type RK4 struct {
	Steps int // at least 1
}

func (r RK4) String() string { return fmt.Sprintf("rk4-%d", r.Steps) }

// Integrate implements Solver.
func (r RK4) Integrate(ctx context.Context, field Field, x []float32, t0, t1 float64) (int, error) {
	tableau := fixed{
		nodes:   []float64{0, 1. / 2, 1. / 2, 1},
		rows:    [][]float64{nil, {1. / 2}, {0, 1. / 2}, {0, 0, 1}},
		weights: []float64{1. / 6, 1. / 3, 1. / 3, 1. / 6},
	}
	return tableau.integrate(ctx, r.String(), r.Steps, field, x, t0, t1)
}
