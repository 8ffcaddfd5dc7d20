package request

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/sets/shard"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
	"github.com/ergoflow/ergoflow/model/experiment"
	"github.com/ergoflow/ergoflow/model/training/flow"
)

// How many functions of the training set an equation is compared with. Making them again
// takes less than a second, so grids with more nodes get fewer.
const (
	mostCompared   = 1024
	leastCompared  = 64
	comparedValues = 1 << 21
)

// reading is what a network reads of an equation on its grid: tables of one or more
// numbers at every node.
type reading struct {
	tables []table
	of     func(ctx context.Context, f family.Function) ([][]float32, error)
}

// table is one tensor of a reading.
type table struct {
	name       string // drift, diffusion, potential, score or force
	components int    // numbers at a node
}

// newReading is of an experiment's network. A network with sensors reads the drift and the
// diffusion along paths: their values at the nodes stand for it.
func newReading(e experiment.Experiment, f family.Family, n shard.Normalisation, nodes int) (reading, error) {
	fields := f.Fields()
	var stored []int // places of the tables among the fields
	var r reading
	add := func(name string, place, size int) {
		if size%nodes == 0 { // others, such as a time, are not of the grid
			r.tables = append(r.tables, table{name, size / nodes})
			stored = append(stored, place)
		}
	}
	if e.Probes != nil {
		for k, field := range fields {
			add(field.Name, k, field.Size())
		}
	} else {
		for k, input := range e.Velocity().Inputs() {
			place := slices.IndexFunc(fields, func(field family.Field) bool { return field.Name == input.Name })
			if place < 0 {
				place = -1 - k // a derived input
			}
			add(input.Name, place, input.Size())
		}
	}
	var derive flow.Conditioner
	if slices.ContainsFunc(stored, func(place int) bool { return place < 0 }) {
		var err error
		if derive, err = e.Conditioner(f, n); err != nil {
			return reading{}, err
		}
	}
	r.of = func(ctx context.Context, function family.Function) ([][]float32, error) {
		var inputs [][]float32
		if derive != nil {
			inputs = make([][]float32, len(e.Velocity().Inputs()))
			if err := derive.Condition(ctx, inputs, []flow.Subject{{Function: function}}); err != nil {
				return nil, err
			}
		}
		values := make([][]float32, len(stored))
		for k, place := range stored {
			if place < 0 {
				values[k] = inputs[-1-place]
			} else {
				values[k] = function.Fields[place]
			}
		}
		return values, nil
	}
	return r, nil
}

// seen are the values that the functions of a training set have in one table.
type seen struct {
	functions   int
	least, most []float32 // at every node, every component
	spread      []float64 // of every component: the deviation of its values at all nodes
	largest     float64   // |value|
	positive    bool      // all values are
}

// seenIn makes functions of the training set again, evenly over all that are generated, and
// reads them.
func (r reading) seenIn(ctx context.Context, e experiment.Experiment, f family.Family, nodes int) ([]seen, error) {
	width := 0
	for _, t := range r.tables {
		width += t.components * nodes
	}
	first, generated := e.Data.Generated()
	count := min(max(comparedValues/max(width, 1), leastCompared), mostCompared, generated)
	all := make([]seen, len(r.tables))
	moments := make([][]shard.Moments, len(r.tables))
	for k, t := range r.tables {
		size := t.components * nodes
		all[k] = seen{functions: count, least: slices.Repeat([]float32{float32(math.Inf(1))}, size), most: slices.Repeat([]float32{float32(math.Inf(-1))}, size)}
		moments[k] = make([]shard.Moments, t.components)
	}
	var mu sync.Mutex
	err := simulate.Each(ctx, count, func(ctx context.Context, i int) error {
		subject, err := function(f, e.Data.Seed, e.Data.TrainingFunction(first+i*generated/count))
		if err != nil {
			return err
		}
		values, err := r.of(ctx, subject.Function)
		if err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		for k, s := range all {
			for j, v := range values[k] {
				s.least[j], s.most[j] = min(s.least[j], v), max(s.most[j], v)
				moments[k][j%len(moments[k])].Add(v)
			}
		}
		return nil
	}, nil)
	if err != nil {
		return nil, fmt.Errorf("the training set's functions: %w", err)
	}
	for k := range all {
		s := &all[k]
		least, most := float64(slices.Min(s.least)), float64(slices.Max(s.most))
		s.largest, s.positive = max(-least, most), least > 0
		for _, m := range moments[k] {
			s.spread = append(s.spread, math.Sqrt(m.Variance()))
		}
	}
	return all, nil
}

// gridAndNodes is the grid of a family whose equations are tabulated, the same along all
// axes, and its number of nodes.
func gridAndNodes(f family.Family) (grid sde.Grid, nodes int) {
	switch tabulated := f.(type) {
	case family.Tabulated:
		grid = tabulated.Grid()
		return grid, grid.N
	case family.TabulatedPlane:
		grid = tabulated.Grid()
		return grid, grid.N * grid.N
	}
	return sde.Grid{}, 0
}
