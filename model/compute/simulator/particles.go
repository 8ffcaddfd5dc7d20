package simulator

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// particles describes sde.Particles. Its arrays are the first and the second
// coordinates. A row holds scale and offset that map r² to the argument of the pair
// force's cubics, trap·Δt, noise·√Δt, and the cubics times Δt, four numbers each. The
// last cubic is zero. A step computes all n² pairs: each twice, and each particle with
// itself at distance zero, which contributes nothing.
type particles struct{ n int }

func (p particles) width() int     { return forceAt + 4*(sde.ForceCells+1) }
func (p particles) arrays() int    { return 2 }
func (p particles) particles() int { return p.n }

// forceAt is the index of the cubics in a row.
const forceAt = 4

func (p particles) pack(row []float32, system sde.System, dt float64) {
	s := system.(sde.Particles)
	row[0] = float32(s.Force.Scale())
	row[1] = float32(1 - s.Force.Core*s.Force.Core*s.Force.Scale())
	row[2] = float32(s.Trap * dt)
	row[3] = float32(s.Noise * math.Sqrt(dt))
	for k, c := range s.Force.Cells {
		scale(row[forceAt+4*k:][:4], c[:], dt)
	}
	clear(row[forceAt+4*sde.ForceCells:])
}

func (p particles) step(t table, x, z []*graph.Node) []*graph.Node {
	var apart [2]*graph.Node // Xᵢ−Xⱼ, by coordinate: [functions, chains, i, j]
	for c := range apart {
		apart[c] = graph.Sub(graph.InsertAxes(x[c], -1), graph.InsertAxes(x[c], -2))
	}
	force := p.force(t, graph.Add(graph.Square(apart[0]), graph.Square(apart[1])))
	moves := make([]*graph.Node, 2)
	for c := range moves {
		pairs := graph.ReduceSum(graph.Mul(force, apart[c]), -1)
		drift := graph.Sub(pairs, graph.Mul(t.number(2), x[c]))
		moves[c] = graph.Add(drift, graph.Mul(t.number(3), z[c]))
	}
	return moves
}

// force is f(r²)Δt as in sde.RadialForce. Distances beyond the cells, and NaN, get
// the last cubic, which is zero.
func (p particles) force(t table, r2 *graph.Node) *graph.Node {
	g := r2.Graph()
	number := func(k int) *graph.Node { return perFunction(t.number(k), r2.Rank()) }
	at := graph.Add(graph.Mul(r2, number(0)), number(1))
	bits := graph.Sub(graph.Bitcast(at, dtypes.Uint32), graph.Const(g, math.Float32bits(1)))
	cell := graph.Min(shiftRight(bits, 22), graph.Const(g, uint32(sde.ForceCells)))
	first := graph.Mul(graph.ConvertDType(cell, dtypes.Int32), graph.Const(g, int32(4)))
	sum := t.at(forceAt+3, first)
	for power := 2; power >= 0; power-- {
		sum = graph.Add(t.at(forceAt+power, first), graph.Mul(at, sum))
	}
	return sum
}
