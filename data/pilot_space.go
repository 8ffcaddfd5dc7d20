package data

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// pilotSpace is PilotRun of a family without a grid, whose chains have double precision. A box
// bounds nothing, so states outside it are a warning alone: the probes miss where they are.
func (d Dataset) pilotSpace(ctx context.Context, f family.Family, box []sde.Interval) (warnings []string, err error) {
	for i := range pilotFunctions {
		if err := f.(family.Spatial).Check(d.Seed, i); err != nil {
			return nil, err
		}
	}
	outside := 0.
	parts := d.simulated()
	if len(parts) == 2 && parts[0].pilot() == parts[1].pilot() && parts[0].scheme.BurnIn == parts[1].scheme.BurnIn {
		parts = parts[:1] // whose chains are those of the other
		parts[0].paths = append(parts[0].paths, "data.reference")
	}
	for _, part := range parts {
		s := part.pilot()
		step := inflated{dt: s.DT}
		for _, path := range part.paths {
			step.paths = append(step.paths, path+".dt")
		}
		width := pilotChains * pilotStates * len(box)
		states := make([]float32, pilotFunctions*width)
		spec := family.SampleSpec{Count: pilotFunctions, Seed: d.Seed, Scheme: s, Purpose: pilotPurpose}
		if err := family.Sample(ctx, f, states, spec, simulate.Fastest(), nil); err != nil {
			return nil, fmt.Errorf("%s: %w", part.path(), err)
		}
		for i := range pilotFunctions {
			x := states[i*width:][:width]
			away, err := d.judgeSpace(ctx, f, i, x, box, s, &step)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", part.path(), err)
			}
			outside = max(outside, away)
		}
		memory, err := d.memory(ctx, f, part.scheme)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.path(), err)
		}
		for _, w := range []string{memoryWarning(memory, part, f.Name()), step.warning(f.Name())} {
			if w != "" {
				warnings = append(warnings, w)
			}
		}
		more, err := d.rejections(ctx, f, part)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.path(), err)
		}
		warnings = append(warnings, more...)
	}
	if outside > warnedAway {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the coordinates of a function of %s are outside its box, where no probes start: widen the box", 100*outside, f.Name()))
	}
	return warnings, nil
}

// rejections are warnings of exchanges and of steps that the first functions hardly ever accept.
func (d Dataset) rejections(ctx context.Context, f family.Family, part simulatedPart) (warnings []string, err error) {
	for _, judge := range []func(context.Context, family.Family, simulatedPart, int) (string, error){d.exchangesWarning, d.acceptanceWarning} {
		w, err := judge(ctx, f, part, part.pilot().BurnIn)
		if err != nil {
			return nil, err
		}
		if w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings, nil
}

// pilotMixed makes a pilot run of each component of a mixture, whose own box judges it.
func (d Dataset) pilotMixed(ctx context.Context, m family.Mixed) (warnings []string, err error) {
	for _, c := range m.Components() {
		more, err := d.pilotSpace(ctx, c.Family, c.Family.(family.Spatial).Box())
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, more...)
	}
	return warnings, nil
}

// warnedAway is the fraction of a function's coordinates outside the box. One of many coordinates
// is often outside: a normal one is beyond two deviations in 5 % of the states.
const warnedAway = 0.1

// judgedInflation is by what part steps make the variance of function i too large, negative: too small.
// The estimate of package diagnostics is for Euler's steps and noise that holds a drift in balance.
// It is far too large where a weak noise disturbs a motion that turns or is chaotic. Other integrators have
// smaller errors where it is below what Euler's steps are warned of, except the tamed one, which differs
// little from Euler's there. So it is an answer up to there, and beyond the error is measured.
func (d Dataset) judgedInflation(ctx context.Context, i int, x []float32, system sde.Space, s simulate.Scheme) (float64, error) {
	if s.Integrator == simulate.MALA { // whose steps make no error
		return 0, nil
	}
	switch e := inflation(x, system, s.DT); {
	case e > diagnostics.WarnedInflation:
		return d.measuredInflation(ctx, i, system, s)
	case s.Integrator == simulate.Euler || math.IsNaN(e):
		return e, nil
	}
	return 0, nil
}

// A measurement has coupledChains pairs of chains. Each gives coupledStates states while it runs half as
// long again as the burn-in of a pilot run. A difference below that many standard errors counts as none.
const (
	coupledChains = 128
	coupledStates = 16
	certain       = 3 // standard errors
)

// measuredInflation compares the variances of chains with those of chains with half the time step and
// the same noise. The error of an integrator of order p is 2ᵖ/(2ᵖ − 1) times the difference. The mean is
// over the features of the states.
func (d Dataset) measuredInflation(ctx context.Context, i int, system sde.Space, s simulate.Scheme) (float64, error) {
	s.Chains, s.Thin = coupledChains, max(s.BurnIn/2/coupledStates, 1)
	whole, half, err := simulate.Fastest().Coupled(ctx, system, s, coupledStates, d.Seed, uint64(i), pilotPurpose)
	if err != nil {
		return 0, err
	}
	whole, half = featured(whole, system), featured(half, system)
	difference, deviation := diagnostics.VarianceRatio(whole, half, len(lift.Features(system)), s.Chains)
	if !(math.Abs(difference) > certain*deviation) {
		return 0, nil
	}
	order := math.Exp2(float64(s.Integrator.Order(system)))
	return difference * order / (order - 1), nil
}

// featured are the features [n, m] of states [n, dim]: the states, where the domain has no ends.
func featured(states []float32, s sde.Space) []float32 {
	if !s.Domain.Restricts() {
		return states
	}
	features := lift.Features(s)
	values := make([]float32, 0, len(states)/s.Dim()*len(features))
	for ; len(states) > 0; states = states[s.Dim():] {
		for _, f := range features {
			values = append(values, float32(f.Of(float64(states[f.Coordinate]))))
		}
	}
	return values
}

// judgeSpace judges the last states of a function, and returns the fraction of their coordinates
// outside the box.
func (d Dataset) judgeSpace(ctx context.Context, f family.Family, i int, x []float32, box []sde.Interval, s simulate.Scheme, step *inflated) (outside float64, err error) {
	dt := s.DT
	function, err := f.Function(d.Seed, i)
	if err != nil {
		return 0, err
	}
	dim := len(box)
	if part := roundedPart(x, dim); part > refusedRounding {
		return 0, fmt.Errorf("%s function %d: storing its samples as float32 changes them by %.2g of their deviation: %w", f.Name(), i, part, ErrRounded)
	}
	if unmoved(x, dim) {
		return 0, fmt.Errorf("%s function %d: none of its chains moves in a step of %g: %w", f.Name(), i, dt, ErrNoise)
	}
	system := function.System.(sde.Space)
	e, err := d.judgedInflation(ctx, i, x, system, s)
	if err != nil {
		return 0, err
	}
	if math.IsNaN(e) || e > diagnostics.RefusedInflation {
		return 0, fmt.Errorf("%s function %d: steps of %g make its variance %s: %w; %s",
			f.Name(), i, dt, tooLarge(e), ErrTimeStep, wouldDo(e, system, s))
	}
	if math.Abs(e) > diagnostics.WarnedInflation {
		step.order, step.better = s.Integrator.Order(system), better(system, s.Integrator)
	}
	step.add(i, e)
	for at, v := range x {
		if b := box[at%dim]; float64(v) < b.Lo || float64(v) > b.Hi {
			outside += 1 / float64(len(x))
		}
	}
	return outside, nil
}
