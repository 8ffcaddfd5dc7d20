package flow

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/family"
	"github.com/ergoflow/ergoflow/data/simulation/probe"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Gridded conditions a network whose inputs are on a grid of the plane on probes. It finds the
// coefficients at the nodes from what the probes saw (probe.Nodes), and makes the inputs from
// them as Stored does. The network sees nothing else of an equation.
type Gridded struct {
	probed *Probed // makes the probes
	nodes  *probe.Nodes
	fields [][]int // columns of a row, for each field of the family
	stored *Stored
}

// ErrNoGrid means that a family has no grid in the plane at whose nodes probes give coefficients.
var ErrNoGrid = errors.New("no grid in the plane")

// NewGridded makes the inputs that stored makes, for functions of the family with that seed.
func NewGridded(stored *Stored, config probe.Config, f family.Family, seed uint64) (*Gridded, error) {
	if config.Kind != probe.Trajectory && config.Kind != probe.Walk {
		return nil, fmt.Errorf("probes of kind %s give no coefficients at nodes: must be %s or %s", config.Kind, probe.Trajectory, probe.Walk)
	}
	if err := config.Validate(); err != nil {
		return nil, fmt.Errorf("probes: %w", err)
	}
	grid := GridOf(f)
	if grid.Plane == nil {
		return nil, fmt.Errorf("%s: %w", f.Name(), ErrNoGrid)
	}
	g := &Gridded{probed: &Probed{config: config, family: f, seed: seed}, stored: stored}
	for _, field := range f.Fields() {
		columns, ok := columnsOf(field)
		if !ok {
			return nil, fmt.Errorf("%s: probes do not show its field %s", f.Name(), field.Name)
		}
		g.fields = append(g.fields, columns)
	}
	var err error
	g.nodes, err = probe.NewNodes(grid.Grid)
	return g, err
}

// columnsOf are the columns of a row (x, y, b₁, b₂, S₁₁, S₁₂, S₂₁, S₂₂) that are a field's numbers
// at a node.
func columnsOf(field family.Field) (columns []int, ok bool) {
	if len(field.Shape) != 3 {
		return nil, false
	}
	switch numbers := field.Shape[2]; {
	case field.Name == "drift" && numbers == 2:
		return []int{2, 3}, true
	case field.Name == "diffusion" && numbers == 1:
		return []int{4}, true
	case field.Name == "diffusion" && numbers == 2:
		return []int{4, 7}, true
	case field.Name == "diffusion" && numbers == 4:
		return []int{4, 5, 6, 7}, true
	}
	return nil, false
}

// Condition implements Conditioner, on GOMAXPROCS goroutines.
func (g *Gridded) Condition(ctx context.Context, inputs [][]float32, subjects []Subject) error {
	found := make([]Subject, len(subjects))
	err := simulate.Each(ctx, len(subjects), func(_ context.Context, i int) error {
		fields, err := g.find(subjects[i])
		found[i] = Subject{Index: subjects[i].Index, Function: family.Function{Fields: fields}}
		return err
	}, nil)
	if err != nil {
		return err
	}
	return g.stored.Condition(ctx, inputs, found)
}

// find are the fields of a subject as its probes show them.
func (g *Gridded) find(s Subject) ([][]float32, error) {
	system, err := g.probed.system(s)
	if err != nil {
		return nil, err
	}
	config := g.probed.config
	rows := make([]float32, config.Size())
	if err := config.Fill(rows, system, g.probed.seed, g.probed.family.Name(), uint64(s.Index)); err != nil {
		return nil, err
	}
	values, err := g.nodes.Fit(rows, slices.Concat(g.fields...))
	if err != nil {
		return nil, fmt.Errorf("function %d: %w", s.Index, err)
	}
	return g.split(values, rows), nil
}

// split makes fields of the values at the nodes. Noise stays within what the probes saw: between
// them a thin plate may dip below zero.
func (g *Gridded) split(values, rows []float32) [][]float32 {
	width := 0
	for _, columns := range g.fields {
		width += len(columns)
	}
	features := g.probed.config.Features()
	fields, from := make([][]float32, len(g.fields)), 0
	for k, columns := range g.fields {
		for at := from; at < len(values); at += width {
			fields[k] = append(fields[k], values[at:at+len(columns)]...)
		}
		from += len(columns)
		for j, column := range columns {
			if column < 4 {
				continue
			}
			least, most := rows[column], rows[column]
			for r := column; r < len(rows); r += features {
				least, most = min(least, rows[r]), max(most, rows[r])
			}
			for at := j; at < len(fields[k]); at += len(columns) {
				fields[k][at] = min(max(fields[k][at], least), most)
			}
		}
	}
	return fields
}
