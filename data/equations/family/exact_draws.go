package family

import (
	"context"
	"errors"
	"fmt"

	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// ErrNoLaw means that exact draws need a family whose laws are known (KnownLaw).
var ErrNoLaw = errors.New("its laws are not known, so there are no exact draws")

// exactDraws fills dst with independent draws from the invariant laws. They have no bias of
// a time step, and visit every well. Functions run on all cores, each with a random stream
// of its own.
func exactDraws(ctx context.Context, f Family, dst []float32, d SampleSpec, progress func(done, total int)) error {
	known, ok := f.(KnownLaw)
	if !ok {
		return fmt.Errorf("%s: %w", f.Name(), ErrNoLaw)
	}
	if d.Count < 1 || len(dst)%d.Count != 0 {
		return fmt.Errorf("%s: %d values cannot be divided among %d functions", f.Name(), len(dst), d.Count)
	}
	width := len(dst) / d.Count
	err := simulate.Each(ctx, d.Count, func(_ context.Context, i int) error {
		law, err := known.Law(d.Seed, d.First+i)
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
