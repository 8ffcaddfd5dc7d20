package ode

import (
	"context"
	"fmt"
)

// fixed is the Butcher tableau of an explicit Runge–Kutta method that is run
// with equal steps: stage s is
//
//	k_s = v(x + h Σ_{r<s} rows[s][r] k_r, t + nodes[s] h),
//
// and a step adds h Σ_s weights[s] k_s.
type fixed struct {
	nodes   []float64
	rows    [][]float64
	weights []float64
}

// integrate runs the tableau; name is the solver's, for errors.
func (m fixed) integrate(ctx context.Context, name string, steps int, field Field, x []float32, t0, t1 float64) (int, error) {
	if steps < 1 {
		return 0, fmt.Errorf("%s: needs at least one step", name)
	}
	if err := checkInterval(t0, t1); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if err := checkFinite("state", x, 0, t0); err != nil {
		return 0, fmt.Errorf("%s: %w", name, err)
	}
	if t0 == t1 {
		return 0, nil
	}
	var (
		h           = (t1 - t0) / float64(steps)
		stages      = vectors(len(m.nodes), len(x))
		trial       []float32 // the argument of stages after the first
		evaluations int
	)
	if len(m.nodes) > 1 {
		trial = make([]float32, len(x))
	}
	for step := range steps {
		t := t0 + float64(step)*h // not a running sum: no drift over many steps
		for s, node := range m.nodes {
			if err := ctx.Err(); err != nil {
				return evaluations, fmt.Errorf("%s: step %d: %w", name, step, err)
			}
			at := x
			if s > 0 {
				combine(trial, x, h, m.rows[s], stages)
				at = trial
			}
			if err := field(stages[s], at, t+node*h); err != nil {
				return evaluations, fmt.Errorf("%s: step %d, t=%g: %w", name, step, t+node*h, err)
			}
			evaluations++
		}
		combine(x, x, h, m.weights, stages)
		if err := checkFinite("state", x, step+1, t+h); err != nil {
			return evaluations, fmt.Errorf("%s: %w", name, err)
		}
	}
	return evaluations, nil
}
