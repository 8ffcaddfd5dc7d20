package probe

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// axis finds cells along one direction.
type axis struct {
	perStep, offset, top float32 // x is at x·perStep + offset of 0…top nodes
	last                 int     // the last cell
}

func newAxis(g sde.Grid) axis {
	return axis{float32(1 / g.Step()), float32(-g.Lo / g.Step()), float32(g.N - 1), g.N - 2}
}

// locate finds x's cell, or the nearest, and the position of x in it, from 0 to 1. It must
// stay small enough to be inlined.
func (a axis) locate(x float32) (cell int, t float32) {
	u := float32(x*a.perStep) + a.offset
	if !(u > 0) {
		u = 0
	}
	if u >= a.top {
		return a.last, 1
	}
	cell = int(u)
	return cell, u - float32(cell)
}

// bilinear interpolates between four corners, s along x and t along y.
func bilinear(v00, v10, v01, v11, s, t float32) float32 {
	lower := v00 + float32(s*(v10-v00))
	upper := v01 + float32(s*(v11-v01))
	return lower + float32(t*(upper-lower))
}

// planeProbe is an equation in the plane prepared for probes.
type planeProbe struct {
	p         sde.Plane
	x, y      axis
	terms     int // numbers of the diffusion at a node
	constant  bool
	sigma     [4]float32 // where it is constant
	walk      bool
	dt, root  float32
	unit      [2]float32 // of a walk
	rowStride int        // floats from one sensor's row to the next sensor's
}

// plane records trajectories and walks.
func (c Config) plane(dst []float32, p sde.Plane, stream stream) error {
	terms, constant := p.DiffusionTerms()
	probe := planeProbe{
		p: p, x: newAxis(p.X), y: newAxis(p.Y), terms: terms, constant: constant, sigma: matrix(p.Diffusion, terms),
		walk: c.Kind == Walk, dt: float32(c.DT), root: float32(math.Sqrt(c.DT)), rowStride: 8 * c.Steps,
		unit: [2]float32{1, 1},
	}
	if c.PerGrid {
		probe.unit = [2]float32{float32((p.X.Hi - p.X.Lo) / 10), float32((p.Y.Hi - p.Y.Lo) / 10)}
	}
	return c.blocks(dst, stream, func(u, v float64) (x, y float64) {
		return p.X.Lo + (p.X.Hi-p.X.Lo)*u, p.Y.Lo + (p.Y.Hi-p.Y.Lo)*v
	}, probe.step)
}

// step records a row of every sensor, at dst and rowStride apart, and moves it.
func (q *planeProbe) step(b *block, dst, zx, zy []float32) {
	drift, across, sigma := q.p.Drift, 2*q.p.X.N, q.sigma
	zy = zy[:len(zx)]
	for l, z := range zx {
		x, y := b.x[l%lanes], b.y[l%lanes]
		i, s := q.x.locate(x)
		j, t := q.y.locate(y)
		node := 2*i + j*across
		lower, upper := drift[node:][:4], drift[node+across:][:4]
		bx := bilinear(lower[0], lower[2], upper[0], upper[2], s, t)
		by := bilinear(lower[1], lower[3], upper[1], upper[3], s, t)
		if !q.constant {
			sigma = q.diffusion(node/2, s, t)
		}
		row := dst[l*q.rowStride:][:8]
		row[0], row[1], row[2], row[3] = x, y, bx, by
		row[4], row[5], row[6], row[7] = sigma[0], sigma[1], sigma[2], sigma[3]

		dx, dy := float32(q.root*z), float32(q.root*zy[l])
		if q.walk {
			dx, dy = float32(q.unit[0]*dx), float32(q.unit[1]*dy)
		} else {
			dx, dy = float32(bx*q.dt)+(float32(sigma[0]*dx)+float32(sigma[1]*dy)),
				float32(by*q.dt)+(float32(sigma[2]*dx)+float32(sigma[3]*dy))
		}
		b.x[l%lanes], b.y[l%lanes] = x+dx, y+dy
	}
}

// matrix is the diffusion matrix of terms numbers, row after row.
func matrix(v []float32, terms int) [4]float32 {
	switch terms {
	case 1:
		return [4]float32{v[0], 0, 0, v[0]}
	case 2:
		return [4]float32{v[0], 0, 0, v[1]}
	}
	return [4]float32{v[0], v[1], v[2], v[3]}
}

// diffusion interpolates the matrix in the cell that begins at a node.
func (q *planeProbe) diffusion(node int, s, t float32) [4]float32 {
	var v [4]float32
	at, across := q.p.Diffusion[q.terms*node:], q.terms*q.p.X.N
	for k := range q.terms {
		v[k] = bilinear(at[k], at[k+q.terms], at[k+across], at[k+across+q.terms], s, t)
	}
	return matrix(v[:], q.terms)
}
