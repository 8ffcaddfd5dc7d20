package experiment

import (
	"context"
	"errors"
	"fmt"
)

// ErrAstray says that probes tell little of an equation.
var ErrAstray = errors.New("its probes are far outside of where they start")

// A trial of probes takes some sensors of the first functions. In the paper's
// experiments at most three in a thousand of a function's rows are astray.
const (
	triedFunctions = 16
	triedSensors   = 256
	mostlyAstray   = 0.5  // of a function's rows: refused
	oftenAstray    = 0.02 // of all rows: worth a warning
)

// Try is Data.Try, and looks at the probes of the first functions too. It refuses
// those that diverge (probe.ErrDiverged) and functions of which most are astray
// (ErrAstray).
func (e Experiment) Try(ctx context.Context) (warnings []string, err error) {
	f, err := e.Family()
	if err != nil {
		return nil, err
	}
	warnings, err = e.Data.Try(ctx, f)
	if err != nil || e.Probes == nil {
		return warnings, err
	}
	c := e.probes()
	c.Sensors = min(c.Sensors, triedSensors)
	rows := make([]float32, c.Size())
	all, functions := 0., min(e.Data.Functions, triedFunctions)
	for i := range functions {
		number := e.Data.TrainingFunction(i)
		function, err := f.Function(e.Data.Seed, number)
		if err != nil {
			return nil, err
		}
		if err := c.Fill(rows, function.System, e.Data.Seed, f.Name(), uint64(number)); err != nil {
			return nil, fmt.Errorf("probes.dt: %s: %w", f.Name(), err)
		}
		astray := c.Astray(rows, function.System)
		if astray > mostlyAstray {
			return nil, fmt.Errorf("probes.dt: %s function %d: %.0f %% of the points, %g apart: %w", f.Name(), number, 100*astray, c.DT, ErrAstray)
		}
		all += astray / float64(functions)
	}
	if all > oftenAstray {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the points of probes of %s are far outside of where they start, and tell little of it: probes.dt is %g", 100*all, f.Name(), c.DT))
	}
	return warnings, nil
}
