package simulator

import (
	"context"
	"fmt"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// description is the data that a run uploads at its beginning.
type description struct {
	rows   []float32   // [functions, width]
	words  [4][]uint32 // of the generators, each as long as an array of a state
	states [][]float32 // arrays of the first states
}

// describe makes the description on GOMAXPROCS goroutines. If the batch has fewer
// functions than the layout, it repeats the last one.
func (r *run) describe(ctx context.Context) (*description, error) {
	d := &description{rows: make([]float32, r.functions*r.equation.width()), states: make([][]float32, r.equation.arrays())}
	places := r.functions * r.chains * max(r.equation.particles(), 1)
	for w := range d.words {
		d.words[w] = make([]uint32, places)
	}
	for a := range d.states {
		d.states[a] = make([]float32, places)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i := range r.functions {
		group.Go(func() error {
			if err := ctx.Err(); err != nil {
				return err
			}
			return r.describeFunction(d, i)
		})
	}
	return d, group.Wait()
}

// origin is the point that states on the device are relative to: that of the start, where the
// equation has a grid.
func (r *run) origin() (origin [2]float64, err error) {
	if r.equation.particles() > 0 {
		return origin, nil
	}
	return r.batch.Scheme.Start.Origin()
}

func (r *run) describeFunction(d *description, i int) error {
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
	origin, err := r.origin()
	if err != nil {
		return err
	}
	width := e.width()
	e.pack(d.rows[i*width:][:width], sde.About(system, origin[0], origin[1]), r.batch.Scheme.DT)

	start := make([]func(output uint32) float32, len(d.states))
	for axis := range start {
		if start[axis], err = r.batch.Scheme.Start.Single(axis, origin[axis]); err != nil {
			return err
		}
	}
	particles := max(e.particles(), 1)
	for c := range r.chains {
		g := simulate.Generator(r.batch.Seed, r.batch.Purpose, uint64(function), uint64(c))
		first := (i*r.chains + c) * particles
		for k := range particles {
			for axis, x := range d.states {
				x[first+k] = start[axis](g[0] + g[3])
				g = advanced(g, 1)
			}
		}
		for k := range particles {
			for w := range d.words {
				d.words[w][first+k] = g[w]
			}
			g = advanced(g, len(d.states))
		}
	}
	return nil
}
