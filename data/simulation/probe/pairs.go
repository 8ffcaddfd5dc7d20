package probe

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Range of the distances at which pairs start, in their unit of length.
const nearest, farthest = 0.2, 4

// pairUnit is the unit of length of pairs: the deviation of a coordinate of one particle alone
// in the trap, which is 1 in the paper's experiment; 1 without a trap.
func pairUnit(p sde.Particles) float64 {
	if p.Trap == 0 {
		return 1
	}
	return p.Noise / math.Sqrt(2*p.Trap)
}

// pairProbe is a pair force prepared for probes.
type pairProbe struct {
	cells         *[sde.ForceCells][4]float32
	scale, offset float32 // t of sde.RadialForce is r²·scale + offset
	dt, noise     float32
	rowStride     int
}

// pairs records isolated pairs.
func (c Config) pairs(dst []float32, p sde.Particles, stream stream) error {
	scale, unit := p.Force.Scale(), pairUnit(p)
	probe := pairProbe{
		cells: &p.Force.Cells, scale: float32(scale), offset: float32(1 - scale*p.Force.Core*p.Force.Core),
		dt: float32(2 * c.DT), noise: float32(math.Sqrt(2*c.DT) * p.Noise), rowStride: 4 * c.Steps,
	}
	return c.blocks(dst, stream, func(u, v float64) (x, y float64) {
		r := unit * (nearest + (farthest-nearest)*u)
		y, x = math.Sincos(2 * math.Pi * v)
		return r * x, r * y
	}, probe.step)
}

// step records a row of every pair, at dst and rowStride apart, and moves it.
func (q *pairProbe) step(b *block, dst, zx, zy []float32) {
	zy = zy[:len(zx)]
	for l, z := range zx {
		x, y := b.x[l%lanes], b.y[l%lanes]
		var f float32
		t := float32((float32(x*x)+float32(y*y))*q.scale) + q.offset
		if k := (math.Float32bits(t) - math.Float32bits(1)) >> 22; k < sde.ForceCells {
			c := &q.cells[k]
			f = c[0] + float32(t*(c[1]+float32(t*(c[2]+float32(t*c[3])))))
		}
		fx, fy := float32(f*x), float32(f*y)
		row := dst[l*q.rowStride:][:4]
		row[0], row[1], row[2], row[3] = x, y, fx, fy
		b.x[l%lanes] = x + (float32(fx*q.dt) + float32(q.noise*z))
		b.y[l%lanes] = y + (float32(fy*q.dt) + float32(q.noise*zy[l]))
	}
}
