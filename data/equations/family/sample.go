package family

import (
	"context"
	"fmt"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Sample fills dst, shape [d.Count, samples, f.Dim()], with the samples that d describes:
// drawn by the family itself (Sampler), exactly (d.Exact), or simulated. progress, which may
// be nil, is called with the number of functions done. Errors name the function; the
// contents of dst are undefined then. Exact draws of a family that has none fail with
// ErrNoLaw.
func Sample(
	ctx context.Context, f Family, dst []float32, d SampleSpec, by simulate.Simulator, progress func(done, total int),
) error {
	if s, ok := f.(Sampler); ok {
		return s.Sample(ctx, dst, d, progress)
	}
	if d.Exact {
		return exactDraws(ctx, f, dst, d, progress)
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
