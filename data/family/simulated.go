package family

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/ergoflow/ergoflow/data/simulate"
)

// simulated is Sample for families whose draws are simulated unless exact ones
// are asked for.
func simulated(
	ctx context.Context, f Family, dst []float32, d Draws, by simulate.Simulator, progress func(done, total int),
) error {
	if d.Exact {
		return exact(ctx, f, dst, d, progress)
	}
	err := by.Simulate(ctx, dst, simulate.Batch{
		First: d.First, Count: d.Count,
		System: func(i int) (sde.System, error) {
			function, err := f.Function(d.Seed, i)
			return function.System, err
		},
		Scheme: d.Scheme, Seed: d.Seed, Purpose: f.Name() + "/" + d.Purpose,
	}, progress)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}
