package simulator

import (
	"fmt"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/compute/shapes"
	"github.com/gomlx/gomlx/core/graph"
)

// equation describes systems of one kind and size to the device. Its values are
// comparable: systems with equal ones share a program.
//
// A state consists of arrays, each [functions, chains] or [functions, chains,
// particles]. Each index into them has a generator. A step takes one normal for each
// array from every generator.
type equation interface {
	// width is the length of the row that describes one function, for one time step.
	width() int
	// pack writes that row.
	pack(row []float32, system sde.System, dt float64)
	// arrays is the number of arrays of a state, particles their last axis or 0.
	arrays() int
	particles() int
	// step returns what one step of Euler–Maruyama adds to the states x, with the
	// normals z.
	step(t table, x, z []*graph.Node) []*graph.Node
}

// equationOf checks a system and returns its description to the device.
func equationOf(system sde.System) (equation, error) {
	if err := system.Validate(); err != nil {
		return nil, err
	}
	switch s := system.(type) {
	case sde.Coefficients:
		return line{nodes: s.Grid.N}, nil
	case sde.Plane:
		terms, constant := s.DiffusionTerms()
		return plane{s.X.N, s.Y.N, terms, constant}, nil
	case sde.Particles:
		return particles{s.N}, nil
	default:
		return nil, fmt.Errorf("devices cannot simulate a %T", system)
	}
}

// table holds the rows of all functions.
type table struct {
	flat *graph.Node // [functions·width]
	rows *graph.Node // [functions, width]
	base *graph.Node // [functions, 1], where each row starts
	rank int         // of the states' arrays
}

func tableOf(flat *graph.Node, functions, width, rank int) table {
	g := flat.Graph()
	first := graph.Iota(g, shapes.Make(dtypes.Int32, functions, 1), 0)
	return table{
		flat: flat, rows: graph.Reshape(flat, functions, width),
		base: graph.Mul(first, graph.Const(g, int32(width))), rank: rank,
	}
}

// number returns number k of each row, in a shape that broadcasts to the states' arrays.
func (t table) number(k int) *graph.Node {
	return perFunction(graph.Slice(t.rows, graph.AxisRange(), graph.AxisRange(k, k+1)), t.rank)
}

// at returns number k+index of each row, for indices [functions, …].
func (t table) at(k int, index *graph.Node) *graph.Node {
	base := graph.Add(t.base, graph.Const(index.Graph(), int32(k)))
	return gather(t.flat, graph.Add(index, perFunction(base, index.Rank())))
}

// perFunction reshapes [functions, 1] to that rank, with axes of length one.
func perFunction(x *graph.Node, rank int) *graph.Node {
	dimensions := slices.Repeat([]int{1}, rank)
	dimensions[0] = x.Shape().Dimensions[0]
	return graph.Reshape(x, dimensions...)
}

// axis is the part of a row, at k and k+1, that describes an axis of the grid: scale
// and offset for which x·scale + offset is 0 … nodes−1 at the nodes.
type axis struct{ k, nodes int }

func (a axis) pack(row []float32, grid sde.Grid) {
	h := grid.Step()
	row[a.k], row[a.k+1] = float32(1/h), float32(-grid.Lo/h)
}

// locate returns the cell of x, or the nearest one, and the position in it, 0 to 1. A
// NaN gets some cell.
func (a axis) locate(t table, x *graph.Node) (cell, w *graph.Node) {
	g := x.Graph()
	u := graph.Add(graph.Mul(x, t.number(a.k)), t.number(a.k+1))
	zero := graph.Const(g, float32(0))
	u = graph.Where(graph.GreaterThan(u, zero), u, zero)
	u = graph.Min(u, graph.Const(g, float32(a.nodes-1)))
	cell = graph.ConvertDType(graph.Min(u, graph.Const(g, float32(a.nodes-2))), dtypes.Int32)
	return cell, graph.Sub(u, graph.ConvertDType(cell, dtypes.Float32))
}

// between is a + w(b−a).
func between(a, b, w *graph.Node) *graph.Node {
	return graph.Add(a, graph.Mul(w, graph.Sub(b, a)))
}
