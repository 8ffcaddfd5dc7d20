package simulator

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/gomlx/gomlx/core/graph"
)

// line describes sde.Coefficients. A row holds the axis, then b·Δt and σ√Δt at the nodes.
type line struct{ nodes int }

func (l line) axis() axis { return axis{0, l.nodes} }

func (l line) width() int     { return 2 + 2*l.nodes }
func (l line) arrays() int    { return 1 }
func (l line) particles() int { return 0 }

func (l line) pack(row []float32, system sde.System, dt float64) {
	c := system.(sde.Coefficients)
	l.axis().pack(row, c.Grid)
	scale(row[2:][:l.nodes], c.Drift, dt)
	scale(row[2+l.nodes:], c.Diffusion, math.Sqrt(dt))
}

func (l line) step(t table, x, z []*graph.Node) []*graph.Node {
	cell, w := l.axis().locate(t, x[0])
	drift := between(t.at(2, cell), t.at(3, cell), w)
	noise := between(t.at(2+l.nodes, cell), t.at(3+l.nodes, cell), w)
	return []*graph.Node{graph.Add(drift, graph.Mul(noise, z[0]))}
}

// scale sets dst = values·factor, rounded once.
func scale(dst, values []float32, factor float64) {
	for i, v := range values {
		dst[i] = float32(float64(v) * factor)
	}
}
