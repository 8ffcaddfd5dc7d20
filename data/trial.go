package data

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// What no data should be made of, although it would look like any other.
var (
	ErrTimeStep = errors.New("the time step is too large for its drift")
	ErrRunsAway = errors.New("its chains leave the grid for good")
	ErrNoise    = errors.New("its noise is lost in rounding")
)

// A trial takes milliseconds: some chains of the first functions, and of long ones
// the beginning.
const (
	trialFunctions = 16
	trialChains    = 256
	trialSteps     = 5000
	trialStates    = 3 // successive ones of each chain, at its end
)

// Where a drift falls by λ per unit of length, successive steps of a chain in
// equilibrium have the correlation −λ·dt/2; from −1 on every step overshoots by more
// than the last one, and there is no equilibrium. In vn1d and cn2d the least is −0.02
// and −0.15, as these chains estimate it hardly below −0.4, and at most 2 % of a
// function's states, 0.2 % of all, are outside the grid.
const (
	overshooting  = -0.75
	mostlyOutside = 0.5  // of a function's states: refused
	oftenOutside  = 0.02 // of all states: worth a warning
	resolution    = 1e-7 // of states, which are float32, beside their size
)

// Try looks at the first functions of the data set, whose family is f: between the nodes, where they are formulas
// (family.Written), and simulated for a moment, as the data set does. It refuses
// chains that diverge, overshoot (ErrTimeStep), run away (ErrRunsAway) or do not feel
// their noise (ErrNoise); warnings say that chains are outside the grid often, where
// coefficients are constant, or that tables miss something. Not simulated are exact
// draws and what has no grid, as particles.
func (d Dataset) Try(ctx context.Context, f family.Family) (warnings []string, err error) {
	if _, draws := f.(family.Sampler); draws || f.Dim() > 2 {
		return nil, nil
	}
	if f, ok := f.(family.Written); ok {
		if warnings, err = between(f, d.Seed); err != nil {
			return nil, err
		}
	}
	first, err := f.Function(d.Seed, 0)
	if err != nil {
		return nil, err
	}
	var often string
	var axes []sde.Grid
	switch s := first.System.(type) {
	case sde.Coefficients:
		axes = []sde.Grid{s.Grid}
	case sde.Plane:
		axes = []sde.Grid{s.X, s.Y}
	}
	for _, part := range []struct {
		name    string
		scheme  simulate.Scheme
		samples int
		draws   Draws
	}{
		{"training", d.Training, d.Samples, d.Draws},
		{"reference", d.Reference, d.StoredReference(), d.ReferenceDraws},
	} {
		if part.draws == Exact {
			continue
		}
		s := part.scheme
		s.BurnIn, s.Thin, s.Chains = min(s.Steps(part.samples/s.Chains), trialSteps), 1, trialChains
		outside, err := d.try(ctx, f, axes, s)
		if err != nil {
			return nil, fmt.Errorf("data.%s: %w", part.name, err)
		}
		if outside > oftenOutside {
			often = fmt.Sprintf("%.0f %% of the states of %s are outside its grid, where its coefficients are constant", 100*outside, f.Name())
		}
	}
	if often != "" {
		warnings = append(warnings, often)
	}
	return warnings, nil
}

// between is of the first functions the first warning, which of the others may say
// the same.
func between(f family.Written, seed uint64) (warnings []string, err error) {
	for i := range trialFunctions {
		warning, err := f.Between(seed, i)
		if err != nil {
			return nil, err
		}
		if warning != "" && warnings == nil {
			warnings = []string{warning}
		}
	}
	return warnings, nil
}

// try is Try with one scheme. It returns which part of the states is outside.
func (d Dataset) try(ctx context.Context, f family.Family, axes []sde.Grid, s simulate.Scheme) (outside float64, err error) {
	width := trialChains * trialStates * len(axes)
	states := make([]float32, trialFunctions*width)
	draws := family.Draws{Count: trialFunctions, Seed: d.Seed, Scheme: s, Purpose: "trial"}
	if err := family.Sample(ctx, f, states, draws, simulate.Fastest(), nil); err != nil {
		return 0, err
	}
	for i := range trialFunctions {
		x := states[i*width:][:width]
		function, err := f.Function(d.Seed, i)
		if err != nil {
			return 0, err
		}
		noise, least := typicalNoise(x, function.System)*math.Sqrt(s.DT), resolution*max(typicalSize(x), axes[0].Step())
		if still(x, len(axes)) || noise < least {
			return 0, fmt.Errorf("%s function %d: the noise of a step of %g is %.2g, states tell %.2g apart: %w", f.Name(), i, s.DT, noise, least, ErrNoise)
		}
		if r := turning(x, len(axes)); r < overshooting {
			return 0, fmt.Errorf("%s function %d: successive steps of %g have the correlation %.2f: %w", f.Name(), i, s.DT, r, ErrTimeStep)
		}
		away := beyond(x, axes)
		if away > mostlyOutside {
			return 0, fmt.Errorf("%s function %d: after %d steps of %g, %.0f %% of its states are outside: %w", f.Name(), i, s.BurnIn, s.DT, 100*away, ErrRunsAway)
		}
		outside += away / trialFunctions
	}
	return outside, nil
}
