package data

import (
	"context"
	"errors"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Generate makes shard k of the data set, unless the store has it. It copies functions that are
// imported; where the store does not have their import, it fails with ErrImports. It takes
// functions that another data set of the store has from there, and a whole shard without
// copying it. It makes the others on GOMAXPROCS goroutines, or on the device that simulates,
// and writes them in order. The values depend on (d, k) and on the simulator's name; every
// *simulate.Engine gives the same. It needs memory for the shard's fields after the first, and
// for two stretches of samples of 64 MiB. It calls progress, which may be nil, with the number
// of functions done, never concurrently.
//
// On an error or a cancelled context nothing is left in the store.
func Generate(
	ctx context.Context, d Dataset, k int, store *shard.Dir, by simulate.Simulator, progress func(done, total int),
) (err error) {
	f, err := d.Resolve()
	if err != nil {
		return err
	}
	if k < 0 || k > d.HeldOutShard() {
		return fmt.Errorf("shard %d of a data set with shards 0 to %d", k, d.HeldOutShard())
	}
	if progress == nil {
		progress = func(int, int) {}
	}
	h := d.header(k, f)
	if store.Has(h.Dataset, k) {
		progress(h.Count, h.Count)
		return nil
	}
	simulator := "" // of exact draws
	if !d.SampleSpec(h.Purpose, h.First, h.Count).Exact {
		simulator = by.String()
	}
	recipe := d.recipe(h.Purpose, f, simulator)
	known := &stored{rows: make([]row, h.Count)}
	defer func() { err = errors.Join(err, known.Close()) }()
	if err := known.takeImports(ctx, d, k, f, store); err != nil {
		return fmt.Errorf("%s shard %d: %w", f.Name(), k, err)
	}
	linked, err := known.reuse(ctx, d, f, h, recipe, store)
	if err != nil {
		return err
	}
	if linked {
		progress(h.Count, h.Count)
		return nil
	}
	w, err := store.Create(h)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Recipe(recipe)
	w.Imported(known.imported)
	w.SimulatedBy(simulator)
	if err := writeFields(ctx, d.Seed, f, h, w, known); err != nil {
		return fmt.Errorf("%s shard %d: %w", f.Name(), k, err)
	}
	stretch := max(stretchBytes/4/(h.Samples*h.Dim), 1)
	if err := writeSamples(ctx, d, f, h, w, by, known, stretch, progress); err != nil {
		return fmt.Errorf("%s shard %d: %w", f.Name(), k, err)
	}
	if err := ctx.Err(); err != nil { // may have ended after the last samples
		return err
	}
	_, err = w.Commit()
	return err
}

// writeFields writes the first field of all functions and collects the others in memory;
// then it writes those.
func writeFields(ctx context.Context, seed uint64, f family.Family, h shard.Header, w *shard.Writer, known *stored) error {
	if len(h.Fields) == 0 {
		return nil
	}
	later := make([][]float32, len(h.Fields)-1)
	for k := range later {
		later[k] = make([]float32, 0, h.Count*h.Fields[k+1].Size())
	}
	err := inOrder(ctx, h.Count, func(_ context.Context, i int) ([][]float32, error) {
		if r := known.rows[i]; r.of != nil {
			return r.fields(), nil
		}
		function, err := f.Function(seed, h.First+i)
		return function.Fields, err
	}, func(_ int, fields [][]float32) error {
		for k, values := range fields[1:] {
			later[k] = append(later[k], values...)
		}
		return w.Field(0, fields[0])
	})
	if err != nil {
		return err
	}
	for k, values := range later {
		if err := w.Field(k+1, values); err != nil {
			return err
		}
	}
	return nil
}

// stretchBytes are the samples simulated at a time: enough for all cores of a large
// device, little compared with a shard.
const stretchBytes = 64 << 20

// writeSamples simulates a stretch of functions while it writes the stretch before. It copies
// the samples of functions that are known.
func writeSamples(
	ctx context.Context, d Dataset, f family.Family, h shard.Header, w *shard.Writer,
	by simulate.Simulator, known *stored, stretch int, progress func(done, total int),
) error {
	free, full := make(chan []float32, 2), make(chan []float32, 2)
	for range cap(free) {
		free <- nil // allocated when first needed
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		defer close(full)
		for done := 0; done < h.Count; done += stretch {
			var samples []float32
			select {
			case samples = <-free:
			case <-ctx.Done():
				return ctx.Err()
			}
			n := min(stretch, h.Count-done)
			if samples == nil {
				samples = make([]float32, n*h.Samples*h.Dim) // the first stretches are the largest
			}
			samples = samples[:n*h.Samples*h.Dim]
			if err := sample(ctx, d, f, h, samples, done, by, known, progress); err != nil {
				return err
			}
			full <- samples // never blocks: there are no more buffers than it holds
		}
		return nil
	})
	group.Go(func() error {
		for samples := range full {
			if err := w.Samples(samples); err != nil {
				return err
			}
			free <- samples
		}
		return nil
	})
	return group.Wait()
}

// sample fills samples with those of the functions from place first of the shard.
func sample(
	ctx context.Context, d Dataset, f family.Family, h shard.Header, samples []float32, first int,
	by simulate.Simulator, known *stored, progress func(done, total int),
) error {
	width := h.Samples * h.Dim
	for end := first + len(samples)/width; first < end; {
		n, have := known.run(first, end-first)
		part := samples[:n*width]
		if have {
			for i := range n {
				known.rows[first+i].samples(part[i*width:][:width], h.Dim)
			}
			progress(first+n, h.Count)
		} else {
			err := family.Sample(ctx, f, part, d.SampleSpec(h.Purpose, h.First+first, n), by, func(done, _ int) { progress(first+done, h.Count) })
			if err != nil {
				return err
			}
			if err := within(f, part, h.First+first, h.Samples); err != nil {
				return err
			}
		}
		first, samples = first+n, samples[n*width:]
	}
	return nil
}

// inOrder calls produce(i) for i in [0, n) on GOMAXPROCS goroutines, and use(i, value) on
// one goroutine in the order of i. At most three values per goroutine exist at a time.
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
