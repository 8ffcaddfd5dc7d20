package data

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/family"
	"github.com/ergoflow/ergoflow/data/shard"
)

// Generate makes shard k of the data set unless the store has it. Functions are
// made on GOMAXPROCS goroutines and written in order; the bytes depend on
// (d, k) alone. Memory beyond the file is the shard's diffusion [F, G] and a few
// functions' samples. progress, which may be nil, is told the number of
// functions that are done, from one goroutine.
//
// On an error or a cancelled context nothing is left in the store.
func Generate(ctx context.Context, d Dataset, k int, store *shard.Dir, progress func(done, total int)) (err error) {
	if err := d.Validate(); err != nil {
		return err
	}
	if k < 0 || k > d.HeldOutShard() {
		return fmt.Errorf("shard %d of a data set with shards 0 to %d", k, d.HeldOutShard())
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	f, err := family.ByName(d.Family)
	if err != nil {
		return err
	}
	h := d.header(k, f)
	if store.Has(h.Dataset, k) {
		progress(h.Count, h.Count)
		return nil
	}
	w, err := store.Create(h)
	if err != nil {
		return err
	}
	defer w.Abort()
	if err := writeCoefficients(ctx, d.Seed, f, h, w); err != nil {
		return fmt.Errorf("%s shard %d: %w", d.Family, k, err)
	}
	if err := writeSamples(ctx, d, f, h, w, progress); err != nil {
		return fmt.Errorf("%s shard %d: %w", d.Family, k, err)
	}
	if err := ctx.Err(); err != nil { // the last samples may have been made before it ended
		return err
	}
	_, err = w.Commit()
	return err
}

// writeCoefficients writes the drift of all functions, then their diffusion.
func writeCoefficients(ctx context.Context, seed uint64, f family.Family, h shard.Header, w *shard.Writer) error {
	type pair struct{ drift, diffusion []float32 }
	diffusion := make([]float32, 0, h.Count*h.Grid)
	err := inOrder(ctx, h.Count, func(_ context.Context, i int) (pair, error) {
		c, err := f.Coefficients(seed, h.First+i)
		return pair{c.Drift, c.Diffusion}, err
	}, func(_ int, c pair) error {
		diffusion = append(diffusion, c.diffusion...)
		return w.Drift(c.drift)
	})
	if err != nil {
		return err
	}
	return w.Diffusion(diffusion)
}

func writeSamples(ctx context.Context, d Dataset, f family.Family, h shard.Header, w *shard.Writer, progress func(done, total int)) error {
	scheme := d.Training
	if h.Purpose == shard.Reference {
		scheme = d.Reference
	}
	return inOrder(ctx, h.Count, func(ctx context.Context, i int) ([]float32, error) {
		samples := make([]float32, h.Samples)
		return samples, f.Sample(ctx, samples, d.Seed, h.First+i, scheme, h.Purpose)
	}, func(i int, samples []float32) error {
		if err := w.Samples(samples); err != nil {
			return err
		}
		progress(i+1, h.Count)
		return nil
	})
}

// inOrder calls produce(i) for i in [0, n) on GOMAXPROCS goroutines and
// use(i, value) on one goroutine in the order of i. At most three values per
// goroutine exist at a time.
func inOrder[T any](ctx context.Context, n int, produce func(context.Context, int) (T, error), use func(int, T) error) error {
	workers := min(runtime.GOMAXPROCS(0), n)
	type job struct {
		i     int
		value chan T
	}
	jobs := make(chan job)
	ordered := make(chan job, 2*workers)
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(jobs)
		defer close(ordered)
		for i := range n {
			j := job{i, make(chan T, 1)}
			for _, to := range []chan job{ordered, jobs} {
				select {
				case to <- j:
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		}
		return nil
	})
	for range workers {
		group.Go(func() error {
			for j := range jobs {
				value, err := produce(ctx, j.i)
				if err != nil {
					return err
				}
				j.value <- value
			}
			return nil
		})
	}
	group.Go(func() error {
		for j := range ordered {
			select {
			case value := <-j.value:
				if err := use(j.i, value); err != nil {
					return err
				}
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		return nil
	})
	return group.Wait()
}
