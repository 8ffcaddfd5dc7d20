package data

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
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
	for _, part := range d.simulated() {
		s := part.scheme
		s.BurnIn, s.Thin, s.Chains = min(s.Steps(part.samples/s.Chains), pilotSteps), 1, pilotChains
		width := pilotChains * pilotStates * len(box)
		states := make([]float32, pilotFunctions*width)
		spec := family.SampleSpec{Count: pilotFunctions, Seed: d.Seed, Scheme: s, Purpose: pilotPurpose}
		if err := family.Sample(ctx, f, states, spec, simulate.Fastest(), nil); err != nil {
			return nil, fmt.Errorf("%s: %w", part.path, err)
		}
		step := inflated{dt: s.DT, paths: []string{part.path + ".dt"}}
		for i := range pilotFunctions {
			x := states[i*width:][:width]
			away, err := d.judgeSpace(ctx, f, i, x, box, s, &step)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", part.path, err)
			}
			outside = max(outside, away)
		}
		memory, err := d.memory(ctx, f, part.scheme)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.path, err)
		}
		exchanges, err := d.exchangesWarning(ctx, f, part, s.BurnIn)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.path, err)
		}
		for _, w := range []string{memoryWarning(memory, part, f.Name()), step.warning(f.Name()), exchanges} {
			if w != "" {
				warnings = append(warnings, w)
			}
		}
	}
	if outside > warnedAway {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the coordinates of a function of %s are outside its box, where no probes start: widen the box", 100*outside, f.Name()))
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

// The estimate of package diagnostics is for Euler's steps and noise that holds a drift in balance. It
// is far too large where a weak noise disturbs a motion that turns or is chaotic, so from doubted on the
// error is measured. Other integrators have smaller errors where it is below what Euler's steps are
// warned of, except the tamed one, which differs little from Euler's there. From there on they are
// measured. Below discerned, for an integrator of order 1, the pilot run's chains do not tell an error
// from chance.
const doubted, discerned = 0.3, 0.5

// judgedInflation is by what part steps make the variance of a function too large, negative: too small.
func (d Dataset) judgedInflation(ctx context.Context, f family.Family, i int, x []float32, system sde.Space, s simulate.Scheme) (float64, error) {
	e := inflation(x, system, s.DT)
	limit := doubted
	if s.Integrator != simulate.Euler {
		limit = diagnostics.WarnedInflation
	}
	switch {
	case e > limit:
		return d.measuredInflation(ctx, f, i, x, s, s.Integrator.Order(system))
	case s.Integrator == simulate.Euler || math.IsNaN(e):
		return e, nil
	}
	return 0, nil
}

// measuredInflation compares the variances of the last states of a function's chains with those of
// chains of half the time step, over the same time. The error of an integrator of order p is 2ᵖ/(2ᵖ − 1)
// times the difference. The mean is over the coordinates.
func (d Dataset) measuredInflation(ctx context.Context, f family.Family, i int, x []float32, s simulate.Scheme, order int) (float64, error) {
	s.DT, s.BurnIn, s.Thin = s.DT/2, 2*s.BurnIn, 2
	finer := make([]float32, len(x))
	spec := family.SampleSpec{First: i, Count: 1, Seed: d.Seed, Scheme: s, Purpose: pilotPurpose}
	if err := family.Sample(ctx, f, finer, spec, simulate.Fastest(), nil); err != nil {
		return 0, err
	}
	function, err := f.Function(d.Seed, i)
	if err != nil {
		return 0, err
	}
	system := function.System.(sde.Space)
	ours, better := moments(x, system), moments(finer, system)
	difference := 0.
	for k := range better {
		if v := better[k].Variance(); v > 0 {
			difference += (ours[k].Variance()/v - 1) / float64(len(better))
		}
	}
	least := discerned / 2
	if s.Integrator == simulate.Euler && difference < least || math.Abs(difference) < least {
		return 0, nil
	}
	return difference * math.Exp2(float64(order)) / (math.Exp2(float64(order)) - 1), nil
}

// moments are those of the features of states [n, dim].
func moments(states []float32, s sde.Space) []shard.Moments {
	features := lift.Features(s)
	m := make([]shard.Moments, len(features))
	for at, v := range featured(states, s) {
		m[at%len(m)].Add(v)
	}
	return m
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
	e, err := d.judgedInflation(ctx, f, i, x, system, s)
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
