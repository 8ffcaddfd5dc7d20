package device

import (
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
	"github.com/gomlx/compute/dtypes"
	"github.com/gomlx/gomlx/core/graph"
)

// particles is sde.Particles; its arrays are the first and the second
// coordinates. A row is the cells of the pair force per r², trap·Δt, noise·√Δt
// and the pair force times Δt. All n² pairs are computed: each twice, and each
// particle with itself at distance zero, which moves nothing.
type particles struct{ n, values int }

func (p particles) width() int     { return 3 + p.values }
func (p particles) arrays() int    { return 2 }
func (p particles) particles() int { return p.n }

func (p particles) pack(row []float32, system sde.System, dt float64) {
	s := system.(sde.Particles)
	row[0] = float32(float64(p.values-1) / (s.Force.Range * s.Force.Range))
	row[1] = float32(s.Trap * dt)
	row[2] = float32(s.Noise * math.Sqrt(dt))
	scale(row[3:], s.Force.Values, dt)
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
		drift := graph.Sub(pairs, graph.Mul(t.number(1), x[c]))
		moves[c] = graph.Add(drift, graph.Mul(t.number(2), z[c]))
	}
	return moves
}

// force is f(r²)Δt.
func (p particles) force(t table, r2 *graph.Node) *graph.Node {
	g := r2.Graph()
	cells := float32(p.values - 1)
	u := graph.Mul(r2, perFunction(t.number(0), r2.Rank()))
	// Beyond the range, and if u is not a number, it is the last value, zero.
	u = graph.Where(graph.LessThan(u, graph.Const(g, cells)), u, graph.Const(g, cells))
	cell := graph.ConvertDType(graph.Min(u, graph.Const(g, cells-1)), dtypes.Int32)
	w := graph.Sub(u, graph.ConvertDType(cell, dtypes.Float32))
	return between(t.at(3, cell), t.at(4, cell), w)
}
