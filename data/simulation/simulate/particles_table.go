package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// vector is one coordinate of up to 16 chains.
type vector = [widest]float32

// pairTable is particles prepared for stepping. Positions are in units of 1/unit, so that t
// of sde.RadialForce is |Xᵢ−Xⱼ|² + offset.
type pairTable struct {
	columns [4][forceCells]float32 // f·Δt, [power of t][cell]: eight vectors of sixteen
	rows    [forceCells][4]float32 // the same, [cell][power]
	// What package sde's RadialPotential has: a pair's potential, times 2Δt·unit².
	potential [forceCells]float32 // the constants of its cells
	core      float32             // inside the core
	offset    float32
	trap      float32 // κΔt
	noise     vector  // Noise·√(TΔt), by lane
	limit     float32 // the bound
	unit      float64
}

// The last cell is the one without force.
const (
	forceCells = sde.ForceCells + 1
	cellShift  = 22                          // low bits of t, which do not select its cell
	oneBits    = 0x3f800000                  // float32(1)
	outside    = sde.ForceCells << cellShift // bits of t at the range, less those of 1
)

// newPairTable is for lanes at the temperatures of a chain's replicas in turn.
func newPairTable(p sde.Particles, dt float64, tempering Tempering) *pairTable {
	scale, root := p.Force.Scale(), math.Sqrt(dt)
	unit := math.Sqrt(scale)
	t := &pairTable{
		offset: float32(1 - p.Force.Core*p.Force.Core*scale),
		trap:   float32(p.Trap * dt),
		limit:  float32(bound * unit),
		unit:   unit,
	}
	for l := range t.noise {
		t.noise[l] = float32(p.Noise * root * unit)
		if tempering.On() {
			t.noise[l] = float32(p.Noise * root * unit * math.Sqrt(tempering.At(l%tempering.Temperatures)))
		}
	}
	step := p.Force // times Δt
	for k, cell := range p.Force.Cells {
		for power, c := range cell {
			step.Cells[k][power] = float32(float64(c) * dt)
			t.columns[power][k] = step.Cells[k][power]
		}
	}
	copy(t.rows[:], step.Cells[:])
	potential := step.Potential()
	for k, c := range potential.Cells {
		t.potential[k] = float32(c)
	}
	t.core = float32(potential.Core)
	return t
}

// pairs adds to f, for the first active chains, the forces between particles
// first ≤ i < end and from ≤ j < to with i < j. Coordinates of particle i are
// x[2i] and x[2i+1].
func (t *pairTable) pairs(f, x []vector, active, first, end, from, to int) {
	for i := first; i < end; i++ {
		xi, yi, fxi, fyi := &x[2*i], &x[2*i+1], &f[2*i], &f[2*i+1]
		for j := max(i+1, from); j < to; j++ {
			xj, yj, fxj, fyj := &x[2*j], &x[2*j+1], &f[2*j], &f[2*j+1]
			for l := range min(active, widest) {
				dx, dy := xi[l]-xj[l], yi[l]-yj[l]
				r := float32(dx*dx) + float32(dy*dy) + t.offset
				c := &t.rows[min(math.Float32bits(r)-oneBits, outside)>>cellShift]
				g := c[0] + float32(r*(c[1]+float32(r*(c[2]+float32(r*c[3])))))
				gx, gy := float32(g*dx), float32(g*dy)
				fxi[l] += gx
				fyi[l] += gy
				fxj[l] -= gx
				fyj[l] -= gy
			}
		}
	}
}

// Factors of a potential's powers of t.
const half, third, quarter = float32(1. / 2), float32(1. / 3), float32(1. / 4)

// energies adds what pairs does to f, and to u[i] the potentials of particle i's pairs with those after it.
func (t *pairTable) energies(u, f, x []vector, active, first, end, from, to int) {
	for i := first; i < end; i++ {
		xi, yi, fxi, fyi := &x[2*i], &x[2*i+1], &f[2*i], &f[2*i+1]
		for j := max(i+1, from); j < to; j++ {
			xj, yj, fxj, fyj := &x[2*j], &x[2*j+1], &f[2*j], &f[2*j+1]
			for l := range min(active, widest) {
				dx, dy := xi[l]-xj[l], yi[l]-yj[l]
				r := float32(dx*dx) + float32(dy*dy) + t.offset
				k := min(math.Float32bits(r)-oneBits, outside) >> cellShift
				c := &t.rows[k]
				g := c[0] + float32(r*(c[1]+float32(r*(c[2]+float32(r*c[3])))))
				integral := float32(r * (c[0] + float32(r*(float32(c[1]*half)+float32(r*(float32(c[2]*third)+float32(r*float32(c[3]*quarter))))))))
				v := t.potential[k] - integral
				if r < 1 {
					v += t.core
				}
				u[i][l] += v
				gx, gy := float32(g*dx), float32(g*dy)
				fxi[l] += gx
				fyi[l] += gy
				fxj[l] -= gx
				fyj[l] -= gy
			}
		}
	}
}

// weigh adds to w, for steps from x, with the forces f, to y, with the forces g, the logarithm of
//
//	q(y→x)/q(x→y) · exp(−κ(|y|² − |x|²)/Noise²),
//
// times 2·noise², of the lane. With the drifts D and E, times Δt, of x and y and Δ = y − x it is the sum of
// (D + E)(D − E − 2Δ) − 2κΔt·Δ(x + y) over the coordinates.
func (t *pairTable) weigh(w *vector, y, g, f, x []vector, active int) {
	for k := range x {
		for l := range min(active, widest) {
			from, to := x[k][l], y[k][l]
			delta := to - from
			d, e := f[k][l]-float32(t.trap*from), g[k][l]-float32(t.trap*to)
			sum, difference := d+e, d-e-(delta+delta)
			fall := float32(t.trap * float32(delta*(from+to)))
			w[l] += float32(sum*difference) - (fall + fall)
		}
	}
}

// move takes len(next) coordinates from x to next, with the forces f, which it clears, and
// the normals z. It reports whether they are then finite and within the bound.
func (t *pairTable) move(next, f, x []vector, active int, z []float32) bool {
	inside := true
	for k := range next {
		to, force, at, noise := &next[k], &f[k], &x[k], z[k*lanes:]
		for l := range min(active, widest) {
			v := at[l] + ((force[l] - float32(t.trap*at[l])) + float32(t.noise[l]*noise[l]))
			to[l] = v
			force[l] = 0
			inside = inside && v > -t.limit && v < t.limit
		}
	}
	return inside
}
