package ode

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
)

// An explicit method of p stages and order p multiplies a linear problem
// dx/dt = λx by the Taylor polynomial of e^{hλ} of degree p at every step.
func TestStabilityPolynomial(t *testing.T) {
	const lambda, h, steps = -1.3, 0.25, 4
	field := func(dst, x []float32, _ float64) error {
		for i, v := range x {
			dst[i] = float32(lambda * float64(v))
		}
		return nil
	}
	z := lambda * h
	for _, tt := range []struct {
		solver Solver
		factor float64
	}{
		{Euler{steps}, 1 + z},
		{RK4{steps}, 1 + z + z*z/2 + z*z*z/6 + z*z*z*z/24},
	} {
		x := []float32{1, -2, 0}
		n, err := tt.solver.Integrate(context.Background(), field, x, 0, h*steps)
		if err != nil {
			t.Fatal(err)
		}
		if stages := map[bool]int{true: 4, false: 1}[strings.HasPrefix(tt.solver.String(), "rk4")]; n != stages*steps {
			t.Errorf("%s: %d evaluations, want %d", tt.solver, n, stages*steps)
		}
		want := math.Pow(tt.factor, steps)
		for i, scale := range []float64{1, -2, 0} {
			if got := float64(x[i]); !(math.Abs(got-scale*want) <= 3e-7*math.Abs(scale)) {
				t.Errorf("%s: x[%d] = %.9g, want %.9g", tt.solver, i, got, scale*want)
			}
		}
	}
}

// A method of order p is exact on dx/dt = q(t) for polynomials of degree < p.
func TestQuadratureIsExact(t *testing.T) {
	for _, tt := range []struct {
		solver Solver
		degree int
	}{{Euler{3}, 0}, {RK4{3}, 3}, {Dopri5{}, 4}} {
		for degree := 0; degree <= tt.degree; degree++ {
			x := []float32{0}
			field := func(dst, _ []float32, t float64) error {
				dst[0] = float32(math.Pow(t, float64(degree)))
				return nil
			}
			if _, err := tt.solver.Integrate(context.Background(), field, x, 0, 1); err != nil {
				t.Fatal(err)
			}
			if want := 1 / float64(degree+1); !(math.Abs(float64(x[0])-want) <= 3e-7) {
				t.Errorf("%s: ∫t^%d = %.9g, want %.9g", tt.solver, degree, x[0], want)
			}
		}
	}
}

// The consistency conditions of the tableau: row sums equal nodes, and the
// weights of the error estimate sum to zero.
func TestDopri5Tableau(t *testing.T) {
	for s, row := range dopriRows {
		var sum float64
		for _, a := range row {
			sum += a
		}
		if !(math.Abs(sum-dopriNodes[s]) <= 1e-14) {
			t.Errorf("row %d sums to %v, want %v", s, sum, dopriNodes[s])
		}
	}
	for power := range 4 { // both solutions integrate t^0..t^3 exactly, so their difference vanishes
		var sum float64
		for s, e := range dopriError {
			sum += e * math.Pow(dopriNodes[s], float64(power))
		}
		if !(math.Abs(sum) <= 1e-15) {
			t.Errorf("error estimate of t^%d is %v, want 0", power, sum)
		}
	}
}

// The largest error over a spread of starting points follows the tolerance.
func TestDopri5MeetsTolerance(t *testing.T) {
	var last int
	for _, tol := range []float64{1e-2, 1e-3, 1e-4, 1e-5, 1e-6} {
		var x []float32
		for i := range 50 {
			x = append(x, 0.02*float32(i+1))
		}
		start := append([]float32(nil), x...)
		n, err := Dopri5{RTol: tol, ATol: tol}.Integrate(context.Background(), logistic, x, 0, 8)
		if err != nil {
			t.Fatal(err)
		}
		if n < last {
			t.Errorf("tolerance %g took %d evaluations, fewer than the looser one", tol, n)
		}
		last = n
		for i, v := range x {
			if e := math.Abs(float64(v) - logisticAt(float64(start[i]), 8)); !(e <= 20*tol) {
				t.Errorf("tolerance %g: error %.3g from x0=%g", tol, e, start[i])
			}
		}
	}
	if last > 400 {
		t.Errorf("1e-6 took %d evaluations: step control wastes work", last)
	}
}

// A kink in time must be resolved by small steps there, large ones elsewhere.
func TestDopri5AdaptsToAKink(t *testing.T) {
	field := func(dst, x []float32, t float64) error {
		for i := range dst {
			dst[i] = float32(1 / (1e-3 + (t-0.5)*(t-0.5)))
		}
		return nil
	}
	x := []float32{0}
	n, err := Dopri5{}.Integrate(context.Background(), field, x, 0, 1)
	if err != nil {
		t.Fatal(err)
	}
	r := math.Sqrt(1e-3)
	want := 2 / r * math.Atan(0.5/r)
	if !(math.Abs(float64(x[0])-want) <= 1e-4*want) || n > 400 {
		t.Errorf("x = %v after %d evaluations, want %v", x[0], n, want)
	}
}

func TestBackwardsReturnsToTheStart(t *testing.T) {
	for _, s := range []Solver{RK4{16}, Dopri5{}} {
		x := []float32{0.1, 0.5, 0.9}
		for _, span := range [][2]float64{{0, 1}, {1, 0}} {
			if _, err := s.Integrate(context.Background(), logistic, x, span[0], span[1]); err != nil {
				t.Fatal(err)
			}
		}
		for i, want := range []float64{0.1, 0.5, 0.9} {
			if !(math.Abs(float64(x[i])-want) <= 1e-4) {
				t.Errorf("%s: %v after there and back, want %v", s, x[i], want)
			}
		}
	}
}

func TestFailuresAreValues(t *testing.T) {
	ctx := context.Background()
	broken := errors.New("device lost")
	square := func(dst, x []float32, _ float64) error { // blows up at t = 1/x0
		for i, v := range x {
			dst[i] = v * v
		}
		return nil
	}
	nan := func(dst, _ []float32, _ float64) error {
		for i := range dst {
			dst[i] = float32(math.NaN())
		}
		return nil
	}
	overflow := func(dst, x []float32, _ float64) error { // finite, but no step keeps the state so
		for i, v := range x {
			dst[i] = 1e38 * min(v, 1)
		}
		return nil
	}
	rough := func() Field { // no step is small enough: sign flips at every call
		sign := float32(1e30)
		return func(dst, _ []float32, _ float64) error {
			for i := range dst {
				dst[i] = sign
			}
			sign = -sign
			return nil
		}
	}()
	failing := func(_, _ []float32, t float64) error {
		if t > 0.3 {
			return broken
		}
		return nil
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for _, tt := range []struct {
		name   string
		ctx    context.Context
		solver Solver
		field  Field
		x0     float32
		t1     float64
		want   error
	}{
		{"Euler blow-up", ctx, Euler{200}, square, 1e3, 1, ErrNonFinite},
		{"RK4 blow-up", ctx, RK4{50}, square, 1e3, 1, ErrNonFinite},
		{"Dopri5 blow-up", ctx, Dopri5{}, square, 1, 2, ErrStepUnderflow},
		{"Dopri5 rough field", ctx, Dopri5{}, rough, 1, 1, ErrStepUnderflow},
		{"Dopri5 out of steps", ctx, Dopri5{MaxSteps: 3}, logistic, 0.01, 50, ErrTooManySteps},
		{"Dopri5 NaN field", ctx, Dopri5{}, nan, 1, 1, ErrNonFinite},
		{"Dopri5 overflow", ctx, Dopri5{}, overflow, math.MaxFloat32, 1e7, ErrNonFinite},
		{"RK4 NaN field", ctx, RK4{4}, nan, 1, 1, ErrNonFinite},
		{"RK4 NaN start", ctx, RK4{4}, logistic, float32(math.NaN()), 1, ErrNonFinite},
		{"Dopri5 infinite start", ctx, Dopri5{}, logistic, float32(math.Inf(1)), 1, ErrNonFinite},
		{"Euler field error", ctx, Euler{10}, failing, 0, 1, broken},
		{"RK4 field error", ctx, RK4{10}, failing, 0, 1, broken},
		{"Dopri5 field error", ctx, Dopri5{}, failing, 0, 1, broken},
		{"RK4 cancelled", cancelled, RK4{10}, logistic, 0.5, 1, context.Canceled},
		{"Dopri5 cancelled", cancelled, Dopri5{}, logistic, 0.5, 1, context.Canceled},
		{"Euler without steps", ctx, Euler{}, logistic, 0.5, 1, nil},
		{"Dopri5 tolerance below float32", ctx, Dopri5{RTol: 1e-12}, logistic, 0.5, 1, nil},
		{"Dopri5 NaN tolerance", ctx, Dopri5{ATol: math.NaN()}, logistic, 0.5, 1, nil},
		{"RK4 infinite time", ctx, RK4{4}, logistic, 0.5, math.Inf(1), nil},
		{"Dopri5 NaN time", ctx, Dopri5{}, logistic, 0.5, math.NaN(), nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			x := []float32{tt.x0, tt.x0}
			_, err := tt.solver.Integrate(tt.ctx, tt.field, x, 0, tt.t1)
			if err == nil {
				t.Fatalf("no error; x = %v", x)
			}
			if tt.want != nil && !errors.Is(err, tt.want) {
				t.Errorf("error %q, want one that is %q", err, tt.want)
			}
			if !strings.HasPrefix(err.Error(), tt.solver.String()) {
				t.Errorf("error %q does not name the solver", err)
			}
		})
	}
}

// After an adaptive method fails, the state is one that it had accepted.
func TestDopri5KeepsTheLastAcceptedState(t *testing.T) {
	x := []float32{1}
	field := func(dst, x []float32, _ float64) error {
		dst[0] = x[0] * x[0]
		return nil
	}
	_, err := Dopri5{}.Integrate(context.Background(), field, x, 0, 2)
	if err == nil || x[0]-x[0] != 0 || !(x[0] >= 100) {
		t.Errorf("x = %v, err = %v: want a large finite state close to the pole", x, err)
	}
}

func TestNothingToDo(t *testing.T) {
	field := func(_, _ []float32, _ float64) error { return errors.New("must not be called") }
	for _, s := range []Solver{Euler{2}, RK4{2}, Dopri5{}} {
		if n, err := s.Integrate(context.Background(), field, []float32{1}, 0.5, 0.5); n != 0 || err != nil {
			t.Errorf("%s over an empty interval: %d evaluations, %v", s, n, err)
		}
	}
	if n, err := (Dopri5{}).Integrate(context.Background(), field, nil, 0, 1); n != 0 || err != nil {
		t.Errorf("dopri5 of no state: %d, %v", n, err)
	}
}

func TestParse(t *testing.T) {
	for name, want := range map[string]Solver{
		"rk4-4": RK4{4}, "rk4-16": RK4{16}, "euler-8": Euler{8}, "dopri5": Dopri5{},
	} {
		got, err := Parse(name)
		if err != nil || got != want || got.String() != name {
			t.Errorf("Parse(%q) = %v, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "rk4", "rk4-", "rk4-0", "rk4--1", "rk4-4.5", "euler-9999999999", "dopri5-4", "heun-4", "RK4-4"} {
		if s, err := Parse(name); err == nil {
			t.Errorf("Parse(%q) = %v, want an error", name, s)
		} else if !strings.Contains(err.Error(), fmt.Sprintf("%q", name)) {
			t.Errorf("Parse(%q): error %q does not quote it", name, err)
		}
	}
}
