// Package ode integrates the ordinary differential equation of a flow,
//
//	dx/dt = v(x, t),
//
// for a whole batch at once. The state of the batch is a flat vector of float32;
// only the field knows how many points of which dimension it holds. A field is
// expensive (a neural network on an accelerator), so solvers return the number of
// evaluations. They combine stages in float64 and round once per stage.
//
// One file holds one method: Euler, RK4, Dopri5.
package ode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Field writes v(x, t) into dst. Both slices have the length of the state and
// belong to the solver: the field keeps neither and does not change x. Fixed-step
// solvers reuse the same slices at every step, so that the field's backend can
// page-lock or register them.
type Field func(dst, x []float32, t float64) error

// Solver integrates a field over one interval.
type Solver interface {
	// Integrate moves x in place from time t0 to time t1 (t1 < t0 integrates
	// backwards) and returns the number of evaluations of the field. After an error
	// x is the last accepted state. The exception is ErrNonFinite from a fixed-step
	// method: then x is the state that was not finite.
	Integrate(ctx context.Context, field Field, x []float32, t0, t1 float64) (evaluations int, err error)

	// String is the name that Parse reads.
	String() string
}

var (
	// ErrNonFinite says that the state or the field became infinite or NaN.
	ErrNonFinite = errors.New("not finite")
	// ErrStepUnderflow says that an adaptive method could not meet its
	// tolerance with any step that still advances time.
	ErrStepUnderflow = errors.New("step size underflow")
	// ErrTooManySteps says that an adaptive method spent its MaxSteps.
	ErrTooManySteps = errors.New("too many steps")
)

// maxFixedSteps bounds what Parse accepts: a larger count is a typing error.
const maxFixedSteps = 1 << 20

// Parse reads the name of a solver: "euler-8" and "rk4-4" (steps after the
// dash), or "dopri5" (relative and absolute tolerance 1e-5).
func Parse(name string) (Solver, error) {
	method, count, hasCount := strings.Cut(name, "-")
	switch method {
	case "dopri5":
		if hasCount {
			return nil, fmt.Errorf("solver %q: dopri5 chooses its own steps and takes no count", name)
		}
		return Dopri5{}, nil
	case "euler", "rk4":
		if !hasCount {
			return nil, fmt.Errorf("solver %q: the number of steps is missing, as in %q", name, method+"-4")
		}
		steps, err := strconv.Atoi(count)
		if err != nil || steps < 1 || steps > maxFixedSteps {
			return nil, fmt.Errorf("solver %q: steps must be a whole number from 1 to %d, not %q", name, maxFixedSteps, count)
		}
		if method == "euler" {
			return Euler{Steps: steps}, nil
		}
		return RK4{Steps: steps}, nil
	}
	return nil, fmt.Errorf("unknown solver %q: known are euler-STEPS, rk4-STEPS and dopri5", name)
}

// checkInterval rejects times that are not finite, and intervals that overflow.
func checkInterval(t0, t1 float64) error {
	if math.IsNaN(t0-t1) || math.IsInf(t0-t1, 0) {
		return fmt.Errorf("integrate from t=%v to t=%v: times must be finite", t0, t1)
	}
	return nil
}

// checkFinite returns ErrNonFinite with the first offending element.
func checkFinite(what string, x []float32, step int, t float64) error {
	for i, v := range x {
		if v-v != 0 { // NaN and ±Inf alone fail v-v == 0
			return fmt.Errorf("%s at step %d, t=%g: element %d is %v: %w", what, step, t, i, v, ErrNonFinite)
		}
	}
	return nil
}

// combine sets dst = x + h Σ_s weights[s] stages[s], summed in float64 and
// rounded once. dst may be x. Zero weights cost nothing.
func combine(dst, x []float32, h float64, weights []float64, stages [][]float32) {
	var sum [256]float64
	for lo := 0; lo < len(x); lo += len(sum) {
		hi := min(lo+len(sum), len(x))
		part := sum[:hi-lo]
		for i, v := range x[lo:hi] {
			part[i] = float64(v)
		}
		for s, w := range weights {
			if w == 0 {
				continue
			}
			stage := stages[s][lo:hi]
			c := h * w
			for i := range part {
				part[i] += c * float64(stage[i])
			}
		}
		for i, v := range part {
			dst[lo+i] = float32(v)
		}
	}
}

// vectors returns count slices of length n in one allocation.
func vectors(count, n int) [][]float32 {
	flat := make([]float32, count*n)
	vs := make([][]float32, count)
	for i := range vs {
		vs[i] = flat[i*n : (i+1)*n : (i+1)*n]
	}
	return vs
}
