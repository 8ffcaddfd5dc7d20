package data

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/diagnostics"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Reasons why a data set must not be generated, although its samples would look like
// any others.
var (
	ErrTimeStep   = errors.New("the time step is too large for its drift")
	ErrLeavesGrid = errors.New("its chains leave the grid for good")
	ErrNoise      = errors.New("its noise is lost in rounding")
	ErrRounded    = errors.New("its samples are far from 0 beside their deviation")
)

// A pilot run takes milliseconds: a few chains of the first functions, at most
// pilotSteps long.
const (
	pilotFunctions = 16
	pilotChains    = 256
	pilotSteps     = 5000
	pilotStates    = 3       // successive ones at the end of each chain
	pilotPurpose   = "trial" // of the random streams
)

// Bounds of a pilot run, besides those of package diagnostics for the time step. Of vn1d and
// cn2d at most 2 % of a function's states are outside the grid, and 0.2 % of all states.
const (
	refusedOutside    = 0.5  // fraction of a function's states
	warnedOutside     = 0.02 // fraction of all states
	float32Resolution = 1e-7 // of states, relative to their distance from the simulator's origin
	refusedRounding   = 0.03 // of samples, relative to their deviation
)

// PilotRun simulates the first functions of the data set, whose family is f, for a short
// time, and compares their formulas with their tables between the nodes
// (family.Interpolated). It refuses chains that diverge, whose variance a time step makes 3.5
// times too large (ErrTimeStep), that leave the grid (ErrLeavesGrid), do not feel their noise
// (ErrNoise) or lose it when they are stored (ErrRounded). It warns of a variance that a time
// step makes more than 5 % too large, of chains that are often outside the grid, where
// coefficients are constant, of chains of a defined family that remember their start after the
// burn-in, and of tables that miss part of a formula. Of exact draws it says where the law of a
// function cannot be found, and of particles where chains hardly accept a step or an exchange.
func (d Dataset) PilotRun(ctx context.Context, f family.Family) (warnings []string, err error) {
	warnings = d.importWarnings()
	if err := d.pilotExact(ctx, f); err != nil {
		return nil, err
	}
	if m, ok := f.(family.Mixed); ok {
		more, err := d.pilotMixed(ctx, m)
		return append(warnings, more...), err
	}
	if s, ok := f.(family.Spatial); ok {
		more, err := d.pilotSpace(ctx, f, s.Box())
		return append(warnings, more...), err
	}
	if _, draws := f.(family.Sampler); draws {
		return warnings, nil
	}
	if f.Dim() > 2 { // particles
		for _, part := range d.simulated() {
			more, err := d.rejections(ctx, f, part)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", part.path(), err)
			}
			warnings = append(warnings, more...)
		}
		return warnings, nil
	}
	if f, ok := f.(family.Interpolated); ok {
		between, err := checkInterpolation(f, d.Seed)
		if err != nil {
			return nil, err
		}
		warnings = append(warnings, between...)
	}
	first, err := f.Function(d.Seed, 0)
	if err != nil {
		return nil, err
	}
	var axes []sde.Grid
	switch s := first.System.(type) {
	case sde.Coefficients:
		axes = []sde.Grid{s.Grid}
	case sde.Plane:
		axes = []sde.Grid{s.X, s.Y}
	}
	warnings = append(warnings, boundaryWarnings(f, axes[0], d.Seed)...)
	var outsideWarning string
	var steps []inflated
	for _, part := range d.simulated() {
		s := part.pilot()
		step := inflated{dt: s.DT, paths: []string{part.path() + ".dt"}}
		outside, err := d.pilotRun(ctx, f, axes, part.path(), s, &step)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", part.path(), err)
		}
		if _, defined := f.(family.Interpolated); defined { // the paper chose its own families' burn-in
			memory, err := d.memory(ctx, f, part.scheme)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", part.path(), err)
			}
			if w := memoryWarning(memory, part, f.Name()); w != "" {
				warnings = append(warnings, w)
			}
		}
		if len(steps) > 0 && steps[0].dt == s.DT {
			steps[0].join(step)
		} else {
			steps = append(steps, step)
		}
		if outside > warnedOutside {
			outsideWarning = fmt.Sprintf("%.0f %% of the states of %s are outside its grid, where its coefficients are constant", 100*outside, f.Name())
		}
	}
	if outsideWarning != "" {
		warnings = append(warnings, outsideWarning)
	}
	for _, step := range steps {
		if w := step.warning(f.Name()); w != "" {
			warnings = append(warnings, w)
		}
	}
	return warnings, nil
}

// simulatedPart is a scheme by which a data set is simulated.
type simulatedPart struct {
	paths   []string // of the scheme, or of both
	scheme  simulate.Scheme
	samples int // of each function
}

// path names the part in messages.
func (p simulatedPart) path() string { return strings.Join(p.paths, " and ") }

// pilot is the scheme of a pilot run of the part.
func (p simulatedPart) pilot() simulate.Scheme {
	s := p.scheme
	s.BurnIn, s.Thin, s.Chains = min(s.Steps(p.samples/s.Chains), pilotSteps), 1, pilotChains
	return s
}

// simulated are the schemes of a data set without those whose samples are exact draws.
func (d Dataset) simulated() (parts []simulatedPart) {
	if d.Draws != Exact {
		parts = append(parts, simulatedPart{[]string{"data.training"}, d.Training, d.Samples})
	}
	if d.ReferenceDraws != Exact {
		parts = append(parts, simulatedPart{[]string{"data.reference"}, d.Reference, d.StoredReference()})
	}
	return parts
}

// pilotExact takes an exact draw of the first functions, where samples are such draws.
func (d Dataset) pilotExact(ctx context.Context, f family.Family) error {
	path := "data.reference_draws"
	switch {
	case d.Draws == Exact:
		path = "data.draws"
	case d.ReferenceDraws != Exact:
		return nil
	}
	spec := family.SampleSpec{Count: pilotFunctions, Seed: d.Seed, Purpose: pilotPurpose, Exact: true}
	if err := family.Sample(ctx, f, make([]float32, pilotFunctions*f.Dim()), spec, simulate.Fastest(), nil); err != nil {
		return fmt.Errorf("%s: %w; %s draws do not need it", path, err, Simulated)
	}
	return nil
}

// checkInterpolation returns the first warning about the first functions: the others may
// repeat it.
func checkInterpolation(f family.Interpolated, seed uint64) (warnings []string, err error) {
	for i := range pilotFunctions {
		warning, err := f.CheckInterpolation(seed, i)
		if err != nil {
			return nil, err
		}
		if warning != "" && warnings == nil {
			warnings = []string{warning}
		}
	}
	return warnings, nil
}

// pilotRun is PilotRun with the scheme of that path. It returns the fraction of states outside
// the grid, and notes what the time step makes of the variances.
func (d Dataset) pilotRun(ctx context.Context, f family.Family, axes []sde.Grid, path string, s simulate.Scheme, step *inflated) (outside float64, err error) {
	width := pilotChains * pilotStates * len(axes)
	states := make([]float32, pilotFunctions*width)
	spec := family.SampleSpec{Count: pilotFunctions, Seed: d.Seed, Scheme: s, Purpose: pilotPurpose}
	if err := family.Sample(ctx, f, states, spec, simulate.Fastest(), nil); err != nil {
		return 0, err
	}
	centre, err := s.Start.Origin()
	if err != nil {
		return 0, err
	}
	if len(axes) == 1 {
		centre[0] = (axes[0].Lo + axes[0].Hi) / 2
	}
	if err := within(f, states, 0, width); err != nil {
		return 0, err
	}
	for i := range pilotFunctions {
		x := states[i*width:][:width]
		function, err := f.Function(d.Seed, i)
		if err != nil {
			return 0, err
		}
		if part := roundedPart(x, len(axes)); part > refusedRounding {
			return 0, fmt.Errorf("%s function %d: storing its samples as float32 changes them by %.2g of their deviation: %w", f.Name(), i, part, ErrRounded)
		}
		noise, least := meanNoise(x, function.System)*math.Sqrt(s.DT), float32Resolution*max(meanDistance(x, centre), axes[0].Step())
		if unmoved(x, len(axes)) || noise < least {
			return 0, fmt.Errorf("%s function %d: the noise of a step of %g is %.2g, float32 states resolve %.2g: %w", f.Name(), i, s.DT, noise, least, ErrNoise)
		}
		e := inflation(x, function.System, s.DT)
		if e > diagnostics.RefusedInflation {
			return 0, fmt.Errorf("%s function %d: steps of %g make its variance %s: %w; one of %.2g would do",
				f.Name(), i, s.DT, diagnostics.TooLarge(e), ErrTimeStep, diagnostics.TimeStep(s.DT, e, diagnostics.WantedInflation))
		}
		step.add(i, e)
		part := fractionOutside(x, axes)
		if part > refusedOutside {
			if err := startOutside(path, s, axes); err != nil {
				return 0, fmt.Errorf("%s function %d: after %d steps of %g, %.0f %% of its states are outside: %w", f.Name(), i, s.BurnIn, s.DT, 100*part, err)
			}
			return 0, fmt.Errorf("%s function %d: after %d steps of %g, %.0f %% of its states are outside: %w", f.Name(), i, s.BurnIn, s.DT, 100*part, ErrLeavesGrid)
		}
		outside += part / pilotFunctions
	}
	return outside, nil
}
