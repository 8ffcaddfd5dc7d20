package simulate

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// Each calls sample for functions 0..functions−1 on GOMAXPROCS goroutines and returns when
// all have ended. It returns the first error, which cancels the contexts of the others.
// progress, if not nil, is called after each function with the number done, in order and
// never concurrently.
func Each(
	ctx context.Context, functions int,
	sample func(ctx context.Context, function int) error, progress func(done, total int),
) error {
	var mu sync.Mutex
	done := 0
	group, groupCtx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range functions {
		group.Go(func() error {
			if err := groupCtx.Err(); err != nil {
				return err
			}
			if err := sample(groupCtx, i); err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			if done++; progress != nil {
				progress(done, functions)
			}
			return nil
		})
	}
	return group.Wait()
}
