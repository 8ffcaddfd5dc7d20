package family

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/ergoflow/ergoflow/data/equations/fokkerplanck"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrNoLaw means that exact draws need a family whose laws are known (HasExactDraws).
var ErrNoLaw = errors.New("its laws are not known, so there are no exact draws")

// HasExactDraws reports whether a family has independent draws from its invariant laws: on the line by its
// KnownLaw, in the plane by the Fokker–Planck equation.
func HasExactDraws(f Family) bool {
	_, known := f.(KnownLaw)
	_, timed := f.(Timed)
	_, sampler := f.(Sampler)
	return known || f.Dim() == 2 && !timed && !sampler
}

// exactDraws fills dst with independent draws from the invariant laws. They have no bias of
// a time step, and visit every well. Functions run on all cores, each with a random stream
// of its own.
func exactDraws(ctx context.Context, f Family, dst []float32, d SampleSpec, progress func(done, total int)) error {
	if !HasExactDraws(f) {
		return fmt.Errorf("%s: %w", f.Name(), ErrNoLaw)
	}
	if d.Count < 1 || len(dst)%d.Count != 0 {
		return fmt.Errorf("%s: %d values cannot be divided among %d functions", f.Name(), len(dst), d.Count)
	}
	width := len(dst) / d.Count
	err := simulate.Each(ctx, d.Count, func(_ context.Context, i int) error {
		law, err := samplable(f, d.Seed, d.First+i)
		if err != nil {
			return err
		}
		law.Sample(dst[i*width:(i+1)*width], random.New(d.Seed, f.Name()+"/"+d.Purpose, uint64(d.First+i)))
		return nil
	}, progress)
	if err != nil {
		return fmt.Errorf("%s: %w", f.Name(), err)
	}
	return nil
}

// samplable is the law of a function of a family that has exact draws: a Law, or one in the plane.
func samplable(f Family, seed uint64, i int) (interface {
	Sample(dst []float32, rng *rand.Rand)
}, error,
) {
	if known, ok := f.(KnownLaw); ok {
		return known.Law(seed, i)
	}
	function, err := f.Function(seed, i)
	if err != nil {
		return nil, err
	}
	law, err := PlaneLaw(function.System)
	if err != nil {
		return nil, fmt.Errorf("function %d: %w", i, err)
	}
	return law, nil
}

// PlaneLaw is the law of a system in the plane, around its grid or its box. Its error is a
// fokkerplanck.ErrUnresolved, or ErrNoLaw of other systems.
func PlaneLaw(system sde.System) (*fokkerplanck.Law, error) {
	switch s := system.(type) {
	case sde.Space:
		return fokkerplanck.Solve(s, nil)
	case sde.Plane:
		side := func(g sde.Grid) sde.Interval { return sde.Interval{Lo: g.Lo, Hi: g.Hi} }
		return fokkerplanck.Solve(sde.InPlane(s.Coefficients, side(s.X), side(s.Y)), nil)
	}
	return nil, ErrNoLaw
}
