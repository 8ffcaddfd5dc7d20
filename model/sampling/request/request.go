// Package request reads what a user asks a trained model for: a function of its
// family by number, or a new equation given as formulas. Its errors
// distinguish requests that no model can answer from those that this one was not trained
// for. It warns of equations that are out of the range of the training set.
package request

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/density"
	"github.com/ergoflow/ergoflow/data/equations/expression"
	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/repair"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// A Request asks for the law of one equation.
type Request struct {
	// Function is the number of a function of the experiment's family. It is used if
	// there are no formulas.
	Function int
	// Drift is b(x) on the line, and in the plane one formula in x and y for each
	// coordinate. For a family without a grid it is that of expression.System.
	Drift []string
	// Diffusion is σ(x) on the line. In the plane it is σ of σ·I, a diagonal of two, or
	// a matrix of four, row after row. For a family without a grid it is that of
	// expression.System.
	Diffusion []string
	// Parameters are the values of names in the formulas, beside x and y.
	Parameters expression.Parameters
	// Time is the physical time of the law, for families that are Timed. Nil is the
	// function's own time, and of formulas the family's longest.
	Time *float64
}

// A Target is what the sampler draws for a request.
type Target struct {
	Subject flow.Subject
	// Time is the physical time of the law; 0 is the invariant law.
	Time float64
	// Warnings say why the samples may have another law than the equation.
	Warnings []string

	subject   certificate.Subject // that the samples are judged by
	line      *density.Line       // law of the formulas; nil where it is not known
	tabulated *density.Density    // law of the table of formulas; nil where it is not known
	later     func(*Target)       // computes the laws, which takes longer than the rest; may be nil
	compare   bool                // the table of formulas with the training set
	inSpace   bool                // formulas have no table
	table     family.Function     // before a time was set
	formulas  repair.Equation     // that they are repaired by, on the line
}

// Kinds of InputError.
var (
	// ErrFormulas means that the experiment's family has no form for formulas.
	ErrFormulas = errors.New("the family does not read formulas")
	// ErrCount means that there are too few or too many formulas.
	ErrCount = errors.New("wrong number of formulas")
	// ErrFormula means that a formula cannot be read. ErrPlaneFormula is the same in
	// the plane.
	ErrFormula      = errors.New("unreadable formula")
	ErrPlaneFormula = errors.New("unreadable formula in the plane")
	// ErrSpaceFormula is the same for a family without a grid.
	ErrSpaceFormula = errors.New("unreadable formula of a system")
	// ErrDiffusion means that the family's functions have another kind of diffusion.
	ErrDiffusion = errors.New("another kind of diffusion")
	// ErrTimeless means that the model has learned invariant laws.
	ErrTimeless = errors.New("the family has no times")
	// ErrRange means that a number is out of its range.
	ErrRange = errors.New("out of range")
)

// An InputError is a request that the model's family cannot read: sent again it fails
// again, whatever the model has learned.
type InputError struct {
	Input string // function, drift, diffusion or time
	Kind  error
	Err   error
}

func (e *InputError) Error() string { return e.Input + ": " + e.Err.Error() }

// Unwrap gives the kind, which is not in the text, and the reason.
func (e *InputError) Unwrap() []error { return []error{e.Kind, e.Err} }

// An EquationError is an equation that has no law on the model's grid:
// sde.ErrNotFinite, sde.ErrNotPositive or density.ErrNotNormalisable.
type EquationError struct {
	Input string   // drift or diffusion; empty where either may be the reason
	Grid  sde.Grid // of the model, the same along all axes
	Err   error
}

func (e *EquationError) Error() string {
	if e.Input == "" {
		return e.Err.Error()
	}
	return e.Input + ": " + e.Err.Error()
}

func (e *EquationError) Unwrap() error { return e.Err }

// Hint says what equation to give instead; it may be empty.
func (e *EquationError) Hint() string {
	grid := fmt.Sprintf("the model's grid, %g…%g", e.Grid.Lo, e.Grid.Hi)
	switch {
	case errors.Is(e.Err, sde.ErrNotFinite):
		return fmt.Sprintf("give a drift and a diffusion that are finite on %s", grid)
	case errors.Is(e.Err, sde.ErrNotPositive):
		return fmt.Sprintf("give a diffusion that is positive on %s; a negative one has the same law as abs(…) of it", grid)
	case errors.Is(e.Err, density.ErrNotNormalisable):
		return fmt.Sprintf("give a drift that points inward at both ends of %s; beyond them it stays constant", grid)
	}
	return ""
}

// Resolve finds the equation that the request asks for. f is the experiment's family,
// trained the normalisation of the model's state. New equations are compared with functions
// of the training set, which it makes again: a Reader makes them once for many requests.
func (r Request) Resolve(ctx context.Context, e experiment.Experiment, f family.Family, trained shard.Normalisation) (Target, error) {
	return NewReader(e, f, trained).Resolve(ctx, r)
}

// function is function i of a family.
func function(f family.Family, seed uint64, i int) (flow.Subject, error) {
	if i < 0 {
		return flow.Subject{}, &InputError{"function", ErrRange, fmt.Errorf("the number is %d, not 0 or more", i)}
	}
	made, err := f.Function(seed, i)
	return flow.Subject{Index: i, Function: made}, err
}

// equation is the one that the formulas give, in the form of the family's functions.
func (r Request) equation(f family.Family) (t Target, err error) {
	switch tabulated := f.(type) {
	case family.Tabulated:
		t, err = r.onLine(tabulated)
	case family.TabulatedPlane:
		t, err = r.inPlane(tabulated)
	case family.Spatial:
		t, err = r.inSpace(tabulated)
	default:
		err = &InputError{"drift", ErrFormulas,
			fmt.Errorf("functions of %s are not drifts and diffusions on a grid: it lacks Grid and Of (docs/families.md)", f.Name())}
	}
	if err != nil {
		return Target{}, err
	}
	return t, nil
}

// moveTo sets the physical time of the law, where the family has times.
func (t *Target) moveTo(f family.Family, time *float64) (err error) {
	timed, ok := f.(family.Timed)
	switch {
	case !ok && time == nil:
		return nil
	case !ok:
		return &InputError{"time", ErrTimeless, fmt.Errorf("the model of %s has learned invariant laws, not laws at physical times", f.Name())}
	case time == nil:
		t.Time = timed.TimeOf(t.Subject.Function)
		return nil
	}
	if t.Subject.Function, err = timed.At(t.Subject.Function, *time); err != nil {
		return &InputError{"time", ErrRange, err}
	}
	t.Time = *time
	return nil
}
