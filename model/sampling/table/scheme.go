package table

import (
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/model/sampling/ode"
)

// ErrSolver means that there is no table for a solver: it chooses its own times, or takes so
// many steps that the table would be large.
var ErrSolver = errors.New("tables are for euler-1 to euler-32 and rk4-1 to rk4-16")

// maxTimes bounds a table: of the paper's network it has 4.2 MB for each time.
const maxTimes = 33

// scheme is a solver with equal steps from t = 0 to 1.
type scheme struct {
	name  string
	steps int
	rk4   bool      // classical Runge–Kutta, otherwise Euler
	times []float64 // of all evaluations: with rk4 also the middle of each step
}

// Supports reports whether there can be a table for a solver.
func Supports(solver ode.Solver) bool {
	_, err := schemeOf(solver)
	return err == nil
}

func schemeOf(solver ode.Solver) (scheme, error) {
	s := scheme{name: solver.String()}
	intervals := 0
	switch solver := solver.(type) {
	case ode.RK4:
		s.steps, s.rk4, intervals = solver.Steps, true, 2*solver.Steps
	case ode.Euler:
		s.steps, intervals = solver.Steps, solver.Steps
	}
	if intervals < 1 || intervals >= maxTimes {
		return scheme{}, fmt.Errorf("solver %s: %w", solver, ErrSolver)
	}
	last := intervals
	if !s.rk4 {
		last-- // Euler does not evaluate the end
	}
	for i := range last + 1 {
		s.times = append(s.times, float64(i)/float64(intervals))
	}
	return s, nil
}

// block is how many states take a step together: their stages stay in the first-level cache.
const block = 512

// step moves the states x of one equation by one step. The fields are those of the step's
// evaluations: of Euler its beginning, of RK4 its beginning, middle and end.
func (s scheme) step(x []float32, fields []field) {
	h := 1 / float32(s.steps)
	var k1, k2, k3, k4, trial [block]float32
	for len(x) > 0 {
		n := min(block, len(x))
		part := x[:n]
		x = x[n:]
		fields[0].evaluate(k1[:n], part)
		if !s.rk4 {
			for i, k := range k1[:n] {
				part[i] += h * k
			}
			continue
		}
		for i, v := range part {
			trial[i] = v + h/2*k1[i]
		}
		fields[1].evaluate(k2[:n], trial[:n])
		for i, v := range part {
			trial[i] = v + h/2*k2[i]
		}
		fields[1].evaluate(k3[:n], trial[:n])
		for i, v := range part {
			trial[i] = v + h*k3[i]
		}
		fields[2].evaluate(k4[:n], trial[:n])
		for i := range part {
			part[i] += h / 6 * (k1[i] + 2*(k2[i]+k3[i]) + k4[i])
		}
	}
}

// evaluations are the places of step number k's evaluations among the scheme's times.
func (s scheme) evaluations(k int) []int {
	if s.rk4 {
		return []int{2 * k, 2*k + 1, 2*k + 2}
	}
	return []int{k}
}
