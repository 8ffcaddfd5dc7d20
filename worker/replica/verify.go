package replica

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow"
	"github.com/ergoflow/ergoflow/data/sets/shard"
)

// Verified remembers which shards are intact, for as long as the process lives. So
// a second run on the same data does not read them again. The zero value is ready
// for use.
type Verified struct{ intact sync.Map } // of shardKey

// shardKey names a shard in a store.
type shardKey struct {
	store, dataset string
	shard          int
}

// verify reads the plan's shards and compares their checksums: training on damaged
// shards gives a wrong network without any error.
func (v *Verified) verify(ctx context.Context, store *shard.Dir, plan ergoflow.Plan) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for k := range plan.Shards {
		key := shardKey{store.Root(), plan.Dataset, k}
		if _, ok := v.intact.Load(key); ok {
			continue
		}
		group.Go(func() error {
			err := store.Verify(ctx, plan.Dataset, k)
			if err == nil {
				v.intact.Store(key, true)
			}
			return err
		})
	}
	return group.Wait()
}
