package request

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// ErrUnlearned means that the model has no samples of an equation: its inputs or its
// flow diverge.
var ErrUnlearned = errors.New("the model has not learned this equation")

// Draw draws n samples [n, d] of a target. It fails with ErrUnlearned where a
// simulation would count as diverged, at coordinates beyond ±simulate.Bound.
func (t Target) Draw(ctx context.Context, s *engine.Engine, n int, solver ode.Solver, seed uint64) ([]float32, error) {
	drawn, err := s.Sample(ctx, []flow.Subject{t.Subject}, n, solver, seed)
	if err != nil {
		return Checked(nil, err)
	}
	return Checked(drawn[0], nil)
}

// Checked returns what an engine drew, or ErrUnlearned as Draw does.
func Checked(x []float32, err error) ([]float32, error) {
	if errors.Is(err, ode.ErrNonFinite) || errors.Is(err, probe.ErrDiverged) {
		return nil, fmt.Errorf("%w: %w", ErrUnlearned, err)
	}
	if err != nil {
		return nil, err
	}
	if !(largest(x) < simulate.Bound) {
		return nil, fmt.Errorf("%w: its samples reach beyond ±%g", ErrUnlearned, float64(simulate.Bound))
	}
	return x, nil
}

// largest is max |x|, NaN if a coordinate is.
func largest(x []float32) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(float64(v)))
	}
	return most
}
