package worker

import (
	"context"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// verify reads the run's shards and compares their checksums: a network trained on
// damaged ones would look like any other. What this process has found whole it does
// not read again, for another run on the same data say.
func (w *worker) verify(ctx context.Context, store *shard.Dir, plan ergoflow.Plan) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k := range plan.Shards {
		key := stored{store.Root(), plan.Dataset, k}
		if _, ok := w.whole.Load(key); ok {
			continue
		}
		group.Go(func() error {
			err := store.Verify(ctx, plan.Dataset, k)
			if err == nil {
				w.whole.Store(key, true)
			}
			return err
		})
	}
	return group.Wait()
}

// stored names a shard in a store.
type stored struct {
	store, dataset string
	shard          int
}
