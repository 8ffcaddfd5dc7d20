package simulator

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/simulate"
)

// describe makes the generators and the rows of all functions of a part, on
// GOMAXPROCS goroutines. Where there are fewer functions than the layout has,
// the last one is repeated.
func (r *run) describe(ctx context.Context) (words [4][]uint32, rows []float32, err error) {
	width, particles := r.equation.width(), max(r.equation.particles(), 1)
	for w := range words {
		words[w] = make([]uint32, r.functions*r.chains*particles)
	}
	rows = make([]float32, r.functions*width)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.functions {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			function := r.batch.First + min(i, r.batch.Count-1)
			system, err := r.batch.System(function)
			if err != nil {
				return err
			}
			e, err := equationOf(system)
			if err != nil {
				return fmt.Errorf("function %d: %w", function, err)
			}
			if e != r.equation {
				return fmt.Errorf("function %d is a %T of size %v, function %d one of size %v",
					function, system, e, r.batch.First, r.equation)
			}
			e.pack(rows[i*width:][:width], system, r.batch.Scheme.DT)
			for c := range r.chains {
				generator := simulate.Generator(r.batch.Seed, r.batch.Purpose, uint64(function), uint64(c))
				for k := range particles {
					for w := range words {
						words[w][(i*r.chains+c)*particles+k] = generator[w]
					}
					if k+1 < particles {
						generator = follow(generator, r.equation.arrays())
					}
				}
			}
			return nil
		})
	}
	return words, rows, group.Wait()
}
