package family

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Sample fills dst, shape [d.Count, samples, f.Dim()], with draws of a family as
// the data set has them: by the family itself (Sampler), exact where they are asked
// for, else simulated. progress, which may be nil, is told how many functions are
// done. Errors name the function; dst must not be used then. Exact draws of a
// family without Exact are refused with ErrNoLaw.
func Sample(
	ctx context.Context, f Family, dst []float32, d Draws, by simulate.Simulator, progress func(done, total int),
) error {
	if s, ok := f.(Sampler); ok {
		return s.Sample(ctx, dst, d, progress)
	}
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
