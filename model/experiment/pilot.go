package experiment

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data"
)

// ErrProbesOutOfRange means that most probes leave the region that they start in.
var ErrProbesOutOfRange = errors.New("its probes are far outside of where they start")

// A pilot run of probes takes some sensors of the first functions. In the paper's
// experiments at most three in a thousand of a function's rows are out of range.
const (
	pilotFunctions    = 16
	pilotSensors      = 256
	refusedOutOfRange = 0.5  // fraction of a function's rows
	warnedOutOfRange  = 0.02 // fraction of all rows
)

// PilotRun is Data.PilotRun, followed by one of the probes of the first functions. It warns of
// rows of chains that start outside the grid. It refuses probes that diverge (probe.ErrDiverged), and functions most of whose rows are out
// of range (ErrProbesOutOfRange).
func (e Experiment) PilotRun(ctx context.Context) (warnings []string, err error) {
	f, err := e.Family()
	if err != nil {
		return nil, err
	}
	warnings, err = e.Data.PilotRun(ctx, f)
	for i, m := range e.Evaluation.MCMC {
		path := fmt.Sprintf("evaluation.mcmc[%d].scheme", i)
		if outside := data.StartOutside(path, m.Scheme, f); outside != nil {
			warnings = append(warnings, fmt.Sprintf("row %q: %v unless its burn-in is long enough; give %s.start", m.Name, outside, path))
		}
	}
	if err != nil || e.Probes == nil {
		return warnings, err
	}
	c := e.Inference().probes()
	c.Sensors = min(c.Sensors, pilotSensors)
	rows := make([]float32, c.Size())
	all, functions := 0., min(e.Data.Functions, pilotFunctions)
	for i := range functions {
		number := e.Data.TrainingFunction(i)
		function, err := f.Function(e.Data.Seed, number)
		if err != nil {
			return nil, err
		}
		system, err := e.seen(function.System)
		if err != nil {
			return nil, fmt.Errorf("probes.dt: %s function %d: %w", f.Name(), number, err)
		}
		if err := c.Fill(rows, system, e.Data.Seed, f.Name(), uint64(number)); err != nil {
			return nil, fmt.Errorf("probes.dt: %s: %w", f.Name(), err)
		}
		part := c.OutOfRange(rows, system)
		if part > refusedOutOfRange {
			return nil, fmt.Errorf("probes.dt: %s function %d: %.0f %% of the points, %g apart: %w", f.Name(), number, 100*part, c.DT, ErrProbesOutOfRange)
		}
		all += part / float64(functions)
	}
	if all > warnedOutOfRange {
		warnings = append(warnings, fmt.Sprintf("%.0f %% of the points of probes of %s are far outside of where they start, and carry little information: probes.dt is %g", 100*all, f.Name(), c.DT))
	}
	return warnings, nil
}
