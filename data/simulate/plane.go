package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
)

// planeTable is an equation in the plane prepared for stepping, b·Δt and S·√Δt
// on the cells of its grid. The last cells of each row and column, constant in
// that direction, are for the ties that axis.locate rounds up.
type planeTable struct {
	x, y  axis
	row   float32    // cells in a row
	terms int        // of a cell: 2 for b, and 1, 2 or 4 for S where it varies
	noise [4]float32 // S·√Δt where it is constant: s₁₁, s₁₂, s₂₁, s₂₂
	cells []bilinear // terms of each, row after row
}

// bilinear is a number that depends on the place in a cell, d and e ∈ [−½, ½]
// from its centre: centre + d·alongX + e·alongY + d·e·twist.
type bilinear struct {
	centre, alongX, alongY, twist float32
}

// at fixes the order of operations. It must stay small enough to be inlined.
func (c *bilinear) at(d, e float32) float32 {
	return float32(c.centre+float32(d*c.alongX)) + float32(e*float32(c.alongY+float32(d*c.twist)))
}

// axis finds cells along one direction: with u = x·scale + offset, cell i covers
// u ∈ [i−½, i+½].
type axis struct {
	scale, offset, top float32
}

func newAxis(g sde.Grid) axis {
	h := g.Step()
	return axis{float32(1 / h), float32(-g.Lo/h - 0.5), float32(g.N) - 1.5}
}

// locate finds x's cell, or the nearest, and its distance from the centre in
// cells. What is not a number is in some cell.
func (a axis) locate(x float32) (cell int, d float32) {
	u := float32(x*a.scale) + a.offset
	if !(u < a.top) {
		u = a.top
	}
	if !(u > -0.5) {
		u = -0.5
	}
	m := u + magic
	return int(math.Float32bits(m) - magicBits), u - (m - magic)
}

func newPlaneTable(p sde.Plane, dt float64) *planeTable {
	t := &planeTable{x: newAxis(p.X), y: newAxis(p.Y), row: float32(p.X.N), terms: 2}
	root := math.Sqrt(dt)
	k, constant := p.DiffusionTerms()
	if constant {
		first, last := float32(float64(p.Diffusion[0])*root), float32(float64(p.Diffusion[k-1])*root)
		t.noise[0], t.noise[3] = first, last
		if k == 4 {
			t.noise[1], t.noise[2] = float32(float64(p.Diffusion[1])*root), float32(float64(p.Diffusion[2])*root)
		}
	} else {
		t.terms += k
	}
	t.cells = make([]bilinear, 0, t.terms*p.Nodes())
	for j := range p.Y.N {
		for i := range p.X.N {
			at, right, up := j*p.X.N+i, 0, 0
			if i+1 < p.X.N {
				right = 1
			}
			if j+1 < p.Y.N {
				up = p.X.N
			}
			corners := [4]int{at, at + right, at + up, at + up + right}
			for term := range 2 {
				t.cells = append(t.cells, newBilinear(p.Drift[term:], 2, corners, dt))
			}
			for term := range t.terms - 2 {
				t.cells = append(t.cells, newBilinear(p.Diffusion[term:], k, corners, root))
			}
		}
	}
	return t
}

// newBilinear takes every k-th value times a factor to be those of the nodes,
// and corners to be a cell's: one, the next along x, and the two along y of them.
func newBilinear(values []float32, k int, corners [4]int, factor float64) bilinear {
	var v [4]float64
	for i, node := range corners {
		v[i] = float64(values[k*node]) * factor
	}
	return bilinear{
		centre: float32((v[0] + v[1] + v[2] + v[3]) / 4),
		alongX: float32((v[1] - v[0] + v[3] - v[2]) / 2),
		alongY: float32((v[2] - v[0] + v[3] - v[1]) / 2),
		twist:  float32(v[3] - v[2] - v[1] + v[0]),
	}
}

// advance takes len(z)/(2·lanes) steps of the first active states; step k uses
// z[2k·lanes+l] and z[(2k+1)·lanes+l] for state l.
func (t *planeTable) advance(x *states[float32], active int, z []float32) bool {
	for ; len(z) >= 2*lanes; z = z[2*lanes:] {
		t.step(x[:active], x[lanes:][:active], z[:active], z[lanes:][:active])
	}
	return bounded(x[:active]) && bounded(x[lanes:][:active])
}

func (t *planeTable) step(x, y, z0, z1 []float32) {
	y, z0, z1 = y[:len(x)], z0[:len(x)], z1[:len(x)]
	for l := range x {
		i, d := t.x.locate(x[l])
		j, e := t.y.locate(y[l])
		cell := t.cells[(j*int(t.row)+i)*t.terms:][:t.terms]
		b0, b1 := cell[0].at(d, e), cell[1].at(d, e)
		var n0, n1 float32
		switch t.terms {
		case 2:
			n0 = float32(t.noise[0]*z0[l]) + float32(t.noise[1]*z1[l])
			n1 = float32(t.noise[2]*z0[l]) + float32(t.noise[3]*z1[l])
		case 3:
			s := cell[2].at(d, e)
			n0, n1 = float32(s*z0[l]), float32(s*z1[l])
		case 4:
			n0, n1 = float32(cell[2].at(d, e)*z0[l]), float32(cell[3].at(d, e)*z1[l])
		case 6:
			n0 = float32(cell[2].at(d, e)*z0[l]) + float32(cell[3].at(d, e)*z1[l])
			n1 = float32(cell[4].at(d, e)*z0[l]) + float32(cell[5].at(d, e)*z1[l])
		}
		x[l] += b0 + n0
		y[l] += b1 + n1
	}
}
