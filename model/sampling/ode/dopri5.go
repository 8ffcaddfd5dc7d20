package ode

import (
	"cmp"
	"context"
	"fmt"
	"math"
)

// Dopri5 is the adaptive embedded pair of orders 5 and 4 of Dormand and Prince
// (J. Comput. Appl. Math. 6, 1980), with local extrapolation and the first
// stage of a step reused from the last stage of the one before:
//
//	  0  |
//	 1/5 | 1/5
//	3/10 | 3/40        9/40
//	 4/5 | 44/45      -56/15       32/9
//	 8/9 | 19372/6561 -25360/2187  64448/6561 -212/729
//	  1  | 9017/3168  -355/33      46732/5247  49/176  -5103/18656
//	  1  | 35/384      0           500/1113    125/192 -2187/6784   11/84
//	-----+---------------------------------------------------------------------
//	err  | 71/57600    0          -71/16695    71/1920 -17253/339200 22/525 -1/40
//
// A step is accepted when the root mean square, over all elements of the state,
// of error/(ATol + RTol max(|x|, |x'|)) is at most 1: all points of a batch
// share their steps. The next step is h·0.9·norm^(-1/5), within [0.2, 10] times
// the last; the first is chosen as in Hairer, Nørsett & Wanner, II.4.
//
// Six evaluations per step tried, plus two at the start.
type Dopri5 struct {
	RTol     float64 // relative tolerance; 0 means 1e-5; at least 1e-7, since states are float32
	ATol     float64 // absolute tolerance; 0 means 1e-5; at least 1e-9
	MaxSteps int     // steps tried before ErrTooManySteps; 0 means 10,000
}

const (
	dopriDefaultTol      = 1e-5
	dopriDefaultMaxSteps = 10_000
	dopriMinRTol         = 1e-7
	dopriMinATol         = 1e-9
	dopriMinStep         = 1e-12 // shortest step, as a part of the interval
)

var (
	dopriNodes = []float64{0, 1. / 5, 3. / 10, 4. / 5, 8. / 9, 1, 1}
	dopriRows  = [][]float64{
		nil,
		{1. / 5},
		{3. / 40, 9. / 40},
		{44. / 45, -56. / 15, 32. / 9},
		{19372. / 6561, -25360. / 2187, 64448. / 6561, -212. / 729},
		{9017. / 3168, -355. / 33, 46732. / 5247, 49. / 176, -5103. / 18656},
		{35. / 384, 0, 500. / 1113, 125. / 192, -2187. / 6784, 11. / 84},
	}
	dopriError = []float64{71. / 57600, 0, -71. / 16695, 71. / 1920, -17253. / 339200, 22. / 525, -1. / 40}
)

func (d Dopri5) String() string {
	if r, a := cmp.Or(d.RTol, dopriDefaultTol), cmp.Or(d.ATol, dopriDefaultTol); r != dopriDefaultTol || a != dopriDefaultTol {
		return fmt.Sprintf("dopri5(rtol=%g,atol=%g)", r, a)
	}
	return "dopri5"
}

// Integrate implements Solver.
func (d Dopri5) Integrate(ctx context.Context, field Field, x []float32, t0, t1 float64) (evaluations int, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: %w", d, err)
		}
	}()
	d.RTol, d.ATol = cmp.Or(d.RTol, dopriDefaultTol), cmp.Or(d.ATol, dopriDefaultTol)
	d.MaxSteps = cmp.Or(d.MaxSteps, dopriDefaultMaxSteps)
	if err := d.validate(); err != nil {
		return 0, err
	}
	if err := checkInterval(t0, t1); err != nil {
		return 0, err
	}
	if err := checkFinite("state", x, 0, t0); err != nil {
		return 0, err
	}
	if t0 == t1 || len(x) == 0 {
		return 0, nil
	}
	evaluate := func(dst, at []float32, t float64) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := field(dst, at, t); err != nil {
			return fmt.Errorf("t=%g: %w", t, err)
		}
		evaluations++
		return nil
	}
	err = d.integrate(evaluate, x, t0, t1)
	return evaluations, err
}

func (d Dopri5) validate() error {
	switch {
	case !(d.RTol >= dopriMinRTol && d.RTol < 1):
		return fmt.Errorf("relative tolerance %g is outside [%g, 1)", d.RTol, dopriMinRTol)
	case !(d.ATol >= dopriMinATol && d.ATol <= math.MaxFloat32):
		return fmt.Errorf("absolute tolerance %g is below %g or not finite", d.ATol, dopriMinATol)
	case d.MaxSteps < 0:
		return fmt.Errorf("negative MaxSteps %d", d.MaxSteps)
	}
	return nil
}

// integrate moves x from t0 to t1 by steps that meet the tolerance.
func (d Dopri5) integrate(evaluate Field, x []float32, t0, t1 float64) error {
	stages := vectors(7, len(x))
	trial := make([]float32, len(x))
	if err := evaluate(stages[0], x, t0); err != nil {
		return err
	}
	if err := checkFinite("field", stages[0], 0, t0); err != nil {
		return err
	}
	h, err := d.firstStep(evaluate, x, stages[0], trial, stages[1], t0, t1)
	if err != nil {
		return err
	}
	t, norm := t0, 0.0
	for step := 1; step <= d.MaxSteps; step++ {
		last := false
		if remaining := t1 - t; math.Abs(h) >= math.Abs(remaining)*(1-1e-6) {
			h, last = remaining, true // end at t1 exactly, without a tiny step after it
		}
		if t+h == t || !last && math.Abs(h) < dopriMinStep*math.Abs(t1-t0) {
			return underflow(step, t, h, norm)
		}
		for s := 1; s < 7; s++ {
			combine(trial, x, h, dopriRows[s], stages)
			if err := evaluate(stages[s], trial, t+dopriNodes[s]*h); err != nil {
				return fmt.Errorf("step %d: %w", step, err)
			}
		}
		// The last row of the tableau is the solution of order 5: trial is x', and
		// stages[6] = v(x', t+h) is the first stage of the next step.
		norm = d.errorNorm(h, x, trial, stages)
		if norm <= 1 {
			t += h
			copy(x, trial)
			stages[0], stages[6] = stages[6], stages[0]
			if last {
				return nil
			}
		}
		h *= stepFactor(norm)
	}
	return fmt.Errorf("at t=%g after %d steps: %w", t, d.MaxSteps, ErrTooManySteps)
}

// stepFactor is the ratio of the next step to one with that error norm: at least 0.2,
// also for a norm that is NaN or infinite, and at most 10.
func stepFactor(norm float64) float64 {
	if norm == 0 {
		return 10
	}
	if f := 0.9 * math.Pow(norm, -1./5); f > 0.2 {
		return min(f, 10)
	}
	return 0.2
}

// underflow is the error of a step h that is too short. norm is the error norm of the
// step before.
func underflow(step int, t, h, norm float64) error {
	if math.IsNaN(norm) || math.IsInf(norm, 0) {
		return fmt.Errorf("step %d at t=%g: h=%g: field or state: %w: %w", step, t, h, ErrNonFinite, ErrStepUnderflow)
	}
	return fmt.Errorf("step %d at t=%g: h=%g: %w", step, t, h, ErrStepUnderflow)
}

// errorNorm is the scaled root mean square of the difference between the
// solutions of orders 5 and 4; NaN or infinite if a stage is.
func (d Dopri5) errorNorm(h float64, x, next []float32, stages [][]float32) float64 {
	k0, k2, k3, k4, k5, k6 := stages[0], stages[2], stages[3], stages[4], stages[5], stages[6]
	e := dopriError
	var sum float64
	for i, v := range x {
		if next[i]-next[i] != 0 { // an infinite scale would hide it
			return math.NaN()
		}
		difference := h * (e[0]*float64(k0[i]) + e[2]*float64(k2[i]) + e[3]*float64(k3[i]) +
			e[4]*float64(k4[i]) + e[5]*float64(k5[i]) + e[6]*float64(k6[i]))
		scale := d.ATol + d.RTol*math.Max(math.Abs(float64(v)), math.Abs(float64(next[i])))
		r := difference / scale
		sum += r * r
	}
	return math.Sqrt(sum / float64(len(x)))
}

// firstStep chooses h so that the error of an explicit Euler step is about 1 % of
// the tolerance (Hairer, Nørsett & Wanner, II.4). It evaluates the field once, after
// an Euler step, into k1; trial and k1 are scratch.
func (d Dopri5) firstStep(evaluate Field, x, k0, trial, k1 []float32, t0, t1 float64) (float64, error) {
	var d0, d1 float64
	for i, v := range x {
		scale := d.ATol + d.RTol*math.Abs(float64(v))
		d0 += sq(float64(v) / scale)
		d1 += sq(float64(k0[i]) / scale)
	}
	n := float64(len(x))
	d0, d1 = math.Sqrt(d0/n), math.Sqrt(d1/n)
	h0 := 1e-6
	if d0 >= 1e-5 && d1 >= 1e-5 {
		h0 = 0.01 * d0 / d1
	}
	h0 = min(h0, math.Abs(t1-t0))
	direction := math.Copysign(1, t1-t0)
	combine(trial, x, direction*h0, []float64{1}, [][]float32{k0})
	if err := evaluate(k1, trial, t0+direction*h0); err != nil {
		return 0, err
	}
	var d2 float64
	for i, v := range x {
		scale := d.ATol + d.RTol*math.Abs(float64(v))
		d2 += sq((float64(k1[i]) - float64(k0[i])) / scale)
	}
	d2 = math.Sqrt(d2/n) / h0
	h1 := max(1e-6, h0*1e-3)
	if m := max(d1, d2); m > 1e-15 {
		h1 = math.Pow(0.01/m, 1./5)
	}
	h := min(100*h0, h1, math.Abs(t1-t0))
	if !(h > 0) { // the field was not finite after the Euler step: start small
		h = h0
	}
	return direction * h, nil
}

func sq(v float64) float64 { return v * v }
