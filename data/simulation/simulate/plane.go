package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// planeTable is an equation in the plane prepared for stepping: b·Δt and S·√Δt on the cells
// of its grid. The last cells of each row and column are constant in that direction; they
// are for ties that axis.locate rounds up.
type planeTable struct {
	x, y axis
	row  int // cells in a row
	// fields of a cell: 1 for b alone, S being noise; 2 for b and the diagonal
	// of S; 3 for b and the columns of S.
	fields int
	noise  [2][2]float32 // columns of S·√Δt where it is constant
	cells  []bilinear    // fields of each, row after row
}

// bilinear is a vector field on a cell, [coordinate]: centre + d·alongX + e·alongY +
// d·e·twist at the distances d, e ∈ [−½, ½] from the cell's centre.
type bilinear [2]struct {
	centre, alongX, alongY, twist float32
}

// at is coordinate k at (d, e). It must stay small enough to be inlined.
func (b *bilinear) at(k int, d, e float32) float32 {
	c := &b[k]
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

// locate finds x's cell, or the nearest, and the distance from its centre in cells. NaN is
// in some cell.
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
	t := &planeTable{x: newAxis(p.X), y: newAxis(p.Y), row: p.X.N, fields: 1}
	root := math.Sqrt(dt)
	k, constant := p.DiffusionTerms()
	// The positions, in a node's k numbers, of the columns of S or of its diagonal.
	at := [4]int{0, 2, 1, 3}
	if k < 4 {
		at = [4]int{0, k - 1}
	}
	switch {
	case constant && k == 4:
		for i, from := range at {
			t.noise[i/2][i%2] = float32(float64(p.Diffusion[from]) * root)
		}
	case constant:
		t.noise[0][0] = float32(float64(p.Diffusion[at[0]]) * root)
		t.noise[1][1] = float32(float64(p.Diffusion[at[1]]) * root)
	case k == 4:
		t.fields = 3
	default:
		t.fields = 2
	}
	t.cells = make([]bilinear, t.fields*p.Nodes())
	for c := range 2 {
		t.fit(0, c, p.Drift[c:], 2, dt)
		for field := 1; field < t.fields; field++ {
			t.fit(field, c, p.Diffusion[at[2*(field-1)+c]:], k, root)
		}
	}
	return t
}

// fit sets one coordinate of a field in all cells from every k-th value, times a factor.
func (t *planeTable) fit(field, coordinate int, values []float32, k int, factor float64) {
	nodes := (len(values) + k - 1) / k
	for first := 0; first < nodes; first += t.row {
		above := first
		if first+t.row < nodes {
			above += t.row
		}
		v00, v01 := float64(values[k*first])*factor, float64(values[k*above])*factor
		for i := range t.row {
			v10, v11 := v00, v01
			if i+1 < t.row {
				v10, v11 = float64(values[k*(first+i+1)])*factor, float64(values[k*(above+i+1)])*factor
			}
			c := &t.cells[(first+i)*t.fields+field][coordinate]
			c.centre = float32((v00 + v10 + v01 + v11) / 4)
			c.alongX = float32((v10 - v00 + v11 - v01) / 2)
			c.alongY = float32((v01 - v00 + v11 - v10) / 2)
			c.twist = float32(v11 - v01 - v10 + v00)
			v00, v01 = v10, v11
		}
	}
}

// advance takes len(z)/(2·lanes) steps of the first active states; step k uses
// z[2k·lanes+l] and z[(2k+1)·lanes+l] for state l.
func (t *planeTable) advance(x *states[float32], active int, z []float32) bool {
	for ; len(z) >= 2*lanes; z = z[2*lanes:] {
		t.step(x[:active], x[lanes:][:active], z[:active], z[lanes:][:active])
	}
	return bounded(x[:active], bound) && bounded(x[lanes:][:active], bound)
}

func (t *planeTable) step(x, y, z0, z1 []float32) {
	y, z0, z1 = y[:len(x)], z0[:len(x)], z1[:len(x)]
	for l, v := range x {
		i, d := t.x.locate(v)
		j, e := t.y.locate(y[l])
		cell := t.cells[(j*t.row+i)*t.fields:][:t.fields]
		var n0, n1 float32
		switch t.fields {
		case 1:
			n0 = float32(t.noise[0][0]*z0[l]) + float32(t.noise[1][0]*z1[l])
			n1 = float32(t.noise[0][1]*z0[l]) + float32(t.noise[1][1]*z1[l])
		case 2:
			n0, n1 = float32(cell[1].at(0, d, e)*z0[l]), float32(cell[1].at(1, d, e)*z1[l])
		case 3:
			n0 = float32(cell[1].at(0, d, e)*z0[l]) + float32(cell[2].at(0, d, e)*z1[l])
			n1 = float32(cell[1].at(1, d, e)*z0[l]) + float32(cell[2].at(1, d, e)*z1[l])
		}
		x[l] = v + (cell[0].at(0, d, e) + n0)
		y[l] += cell[0].at(1, d, e) + n1
	}
}
