package simulator

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/gomlx/gomlx/core/graph"
)

// plane describes sde.Plane. A row holds the axes of x and y and, if S is constant,
// S√Δt. Then for each node it holds b₁Δt, b₂Δt and, if S is not constant, S√Δt.
type plane struct {
	nx, ny   int
	terms    int // numbers of S: 1, 2 or 4
	constant bool
}

// fields is how many numbers of a row belong to a node.
func (p plane) fields() int {
	if p.constant {
		return 2
	}
	return 2 + p.terms
}

// nodes is the index of the first node's numbers.
func (p plane) nodes() int {
	if p.constant {
		return 4 + p.terms
	}
	return 4
}

func (p plane) axes() (x, y axis) { return axis{0, p.nx}, axis{2, p.ny} }

func (p plane) width() int     { return p.nodes() + p.nx*p.ny*p.fields() }
func (p plane) arrays() int    { return 2 }
func (p plane) particles() int { return 0 }

func (p plane) pack(row []float32, system sde.System, dt float64) {
	s := system.(sde.Plane)
	x, y := p.axes()
	x.pack(row, s.X)
	y.pack(row, s.Y)
	root := math.Sqrt(dt)
	if p.constant {
		scale(row[4:p.nodes()], s.Diffusion, root)
	}
	for n := range p.nx * p.ny {
		node := row[p.nodes()+n*p.fields():][:p.fields()]
		scale(node[:2], s.Drift[2*n:][:2], dt)
		if !p.constant {
			scale(node[2:], s.Diffusion[p.terms*n:][:p.terms], root)
		}
	}
}

func (p plane) step(t table, x, z []*graph.Node) []*graph.Node {
	g := x[0].Graph()
	xs, ys := p.axes()
	i, u := xs.locate(t, x[0])
	j, v := ys.locate(t, x[1])
	node := graph.Add(graph.Mul(j, graph.Const(g, int32(p.nx))), i)
	corner := graph.Mul(node, graph.Const(g, int32(p.fields())))
	// field interpolates along x on both sides of the cell, then along y.
	field := func(k int) *graph.Node {
		at := p.nodes() + k
		lower := between(t.at(at, corner), t.at(at+p.fields(), corner), u)
		at += p.nx * p.fields()
		upper := between(t.at(at, corner), t.at(at+p.fields(), corner), u)
		return between(lower, upper, v)
	}
	s := make([]*graph.Node, p.terms)
	for k := range s {
		if p.constant {
			s[k] = t.number(4 + k)
		} else {
			s[k] = field(2 + k)
		}
	}
	noise := make([]*graph.Node, 2)
	switch p.terms {
	case 1:
		noise[0], noise[1] = graph.Mul(s[0], z[0]), graph.Mul(s[0], z[1])
	case 2:
		noise[0], noise[1] = graph.Mul(s[0], z[0]), graph.Mul(s[1], z[1])
	case 4:
		noise[0] = graph.Add(graph.Mul(s[0], z[0]), graph.Mul(s[1], z[1]))
		noise[1] = graph.Add(graph.Mul(s[2], z[0]), graph.Mul(s[3], z[1]))
	}
	return []*graph.Node{graph.Add(field(0), noise[0]), graph.Add(field(1), noise[1])}
}
