package ode

import (
	"context"
	"math"
	"slices"
	"testing"
)

// logistic has a curved solution, x(t) = 1/(1 + (1/x0 - 1) e^-t), which every
// order condition up to 5 sees.
func logistic(dst, x []float32, t float64) error {
	for i, v := range x {
		dst[i] = v * (1 - v)
	}
	return nil
}

func logisticAt(x0, t float64) float64 { return 1 / (1 + (1/x0-1)*math.Exp(-t)) }

// swing depends on time as well: dx/dt = x cos t, x(t) = x0 exp(sin t).
func swing(dst, x []float32, t float64) error {
	for i, v := range x {
		dst[i] = float32(float64(v) * math.Cos(t))
	}
	return nil
}

// square is nonlinear and depends on time: dx/dt = t√x, from 1 to x(t) = (1 + t²/4)².
func square(dst, x []float32, t float64) error {
	for i, v := range x {
		dst[i] = float32(t * math.Sqrt(float64(v)))
	}
	return nil
}

// problem has a solution in closed form.
type problem struct {
	name  string
	field Field
	until float64
	start float32
	end   float64
}

var (
	logisticProblem = problem{"logistic", logistic, 2.5, 0.25, logisticAt(0.25, 2.5)}
	swingProblem    = problem{"swing", swing, 1.2, 1, math.Exp(math.Sin(1.2))}
	squareProblem   = problem{"square", square, 6, 1, 100}
)

// miss returns the solver's relative error at the end, and the number of evaluations.
func (p problem) miss(t *testing.T, s Solver) (miss float64, evaluations int) {
	t.Helper()
	x := []float32{p.start}
	n, err := s.Integrate(context.Background(), p.field, x, 0, p.until)
	if err != nil {
		t.Fatal(err)
	}
	return math.Abs(float64(x[0])/p.end - 1), n
}

// equalSteps runs a tableau as a Solver.
type equalSteps struct {
	fixed
	name  string
	steps int
}

func (m equalSteps) String() string { return m.name }

func (m equalSteps) Integrate(ctx context.Context, field Field, x []float32, t0, t1 float64) (int, error) {
	return m.integrate(ctx, m.name, m.steps, field, x, t0, t1)
}

// Half the step divides the error by 2^p: the slope of log error against log step
// is the order p. So it is for the tableau of dopri5 with equal steps, with the
// weights of its solution and with those of the one embedded in it.
func TestOrderOfConvergence(t *testing.T) {
	fifth := append(slices.Clone(dopriRows[6]), 0)
	fourth := slices.Clone(fifth)
	for s, e := range dopriError {
		fourth[s] -= e
	}
	euler := func(n int) Solver { return Euler{n} }
	rk4 := func(n int) Solver { return RK4{n} }
	dopri := func(weights []float64) func(n int) Solver {
		return func(n int) Solver { return equalSteps{fixed{dopriNodes, dopriRows, weights}, "dopri5", n} }
	}
	for _, tt := range []struct {
		problem problem
		solver  func(steps int) Solver
		order   float64
		steps   []int // within these the error is far above float32 rounding
	}{
		{logisticProblem, euler, 1, []int{16, 32, 64, 128}},
		{swingProblem, euler, 1, []int{16, 32, 64, 128}},
		{squareProblem, euler, 1, []int{64, 128, 256, 512}},
		{logisticProblem, rk4, 4, []int{2, 3, 4, 6}},
		{swingProblem, rk4, 4, []int{2, 3, 4, 6}},
		{squareProblem, rk4, 4, []int{7, 10, 14, 20, 28}},
		{squareProblem, dopri(fifth), 5, []int{7, 8, 10, 12, 14}},
		{squareProblem, dopri(fourth), 4, []int{6, 8, 10, 12, 16, 20}},
	} {
		var logs, errs []float64
		for _, n := range tt.steps {
			miss, _ := tt.problem.miss(t, tt.solver(n))
			logs, errs = append(logs, math.Log(tt.problem.until/float64(n))), append(errs, math.Log(miss))
		}
		if slope := slope(logs, errs); !(math.Abs(slope-tt.order) < 0.3) {
			t.Errorf("%s, %s: slope of log error against log step is %.2f, want %.0f (errors %v)", tt.solver(1), tt.problem.name, slope, tt.order, errs)
		}
	}
}

// On a ladder of tolerances the error falls like the tolerance, and against the
// number of evaluations it falls with order 5. Rounding to whole steps, and rejected
// steps, change the slopes by some tenths.
func TestDopri5Ladder(t *testing.T) {
	long := problem{"square", square, 200, 1, 10001 * 10001}
	var tolerances, errs, work []float64
	for _, tol := range []float64{1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6} {
		miss, n := long.miss(t, Dopri5{RTol: tol, ATol: tol})
		tolerances, errs, work = append(tolerances, math.Log(tol)), append(errs, math.Log(miss)), append(work, math.Log(float64(n)))
	}
	if s := slope(tolerances, errs); !(math.Abs(s-1) <= 0.15) {
		t.Errorf("slope of log error against log tolerance is %.2f, want 1 (errors %.2f)", s, errs)
	}
	if s := slope(work, errs); !(math.Abs(s+5) <= 0.6) {
		t.Errorf("slope of log error against log evaluations is %.2f, want -5 (errors %.2f, evaluations %.2f)", s, errs, work)
	}
}

// The flow from N(0, 1) to N(μ, s²) is known for the best velocity of independent
// and of optimally coupled pairs: x(t) = tμ + w(t)·x(0) with w² = (1−t)² + t²s² and
// with w = 1 − t + ts. Both end in μ + s·x(0). Independent pairs have bent paths, optimal
// ones straight paths, on which one step of Euler's method is exact. The
// bounds hold for |x(0)| ≤ 3 and are a few times the measured errors: that of RK4 with
// 4 steps, the default, is 0.003.
func TestFlowToAGaussian(t *testing.T) {
	const mean = 1.5
	paths := map[string]func(s, t float64) (rate float64){ // w′/w
		"bent":     func(s, t float64) float64 { return (t*s*s - (1 - t)) / ((1-t)*(1-t) + t*t*s*s) },
		"straight": func(s, t float64) float64 { return (s - 1) / (1 - t + t*s) },
	}
	for _, tt := range []struct {
		solver Solver
		bounds map[string]float64
	}{
		{Euler{1}, map[string]float64{"straight": 1e-6}},
		{Euler{64}, map[string]float64{"bent": 0.2, "straight": 5e-6}},
		{RK4{4}, map[string]float64{"bent": 5e-3, "straight": 1e-6}},
		{RK4{16}, map[string]float64{"bent": 1e-5, "straight": 2e-6}},
		{Dopri5{}, map[string]float64{"bent": 3e-4, "straight": 2e-6}},
	} {
		for name, bound := range tt.bounds {
			for _, s := range []float64{0.3, 1, 2} {
				field := func(dst, x []float32, t float64) error {
					for i, v := range x {
						dst[i] = float32(mean + paths[name](s, t)*(float64(v)-t*mean))
					}
					return nil
				}
				start := []float32{-3, -1, 0, 0.5, 3}
				x := slices.Clone(start)
				if _, err := tt.solver.Integrate(context.Background(), field, x, 0, 1); err != nil {
					t.Fatal(err)
				}
				for i, v := range x {
					if miss := math.Abs(float64(v) - (mean + s*float64(start[i]))); !(miss <= bound) {
						t.Errorf("%s, %s paths to s = %g: from %g the end is off by %.2g, want at most %.2g", tt.solver, name, s, start[i], miss, bound)
					}
				}
			}
		}
	}
}

func slope(x, y []float64) float64 {
	var mx, my, sxy, sxx float64
	for i := range x {
		mx += x[i] / float64(len(x))
		my += y[i] / float64(len(y))
	}
	for i := range x {
		sxy += (x[i] - mx) * (y[i] - my)
		sxx += (x[i] - mx) * (x[i] - mx)
	}
	return sxy / sxx
}
