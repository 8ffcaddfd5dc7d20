package simulate

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Chains fills dst with samples of chains, which take the steps of the scheme's Integrator. Those of
// Euler are
//
//	Xₙ₊₁ = Xₙ + b(Xₙ)Δt + σ(Xₙ)√Δt ξₙ,  ξₙ ~ N(0, I), X₀ ~ N(0, Start²·I)
//
// (Itô, weak order 1), with b and σ interpolated by the system. dst has the shape
// [Chains, samples, system.Dim()]. The arithmetic is float32 without fused operations. It is
// the same on every platform and Engine, except that the last bit of one normal in 65,536
// may differ between platforms (see normals). It runs on the calling goroutine, on the
// fastest engine; use Each to run functions on all cores.
//
// Errors name the function, ErrDiverged also chain and step. The contents of dst are
// undefined after an error.
func Chains(
	ctx context.Context, dst []float32, system sde.System, s Scheme, seed, function uint64, purpose string,
) error {
	return engines[0].Chains(ctx, dst, system, s, seed, function, purpose)
}

// cell is one interval of the grid: b·Δt and σ·√Δt, in cells, as lines in the state, given
// by their values at state 0 and their slopes. Far from 0 such a line has more rounding than
// one about the cell's centre, but at most that of the state times the slope, which is below
// 1 in any stable scheme.
type cell struct {
	drift, driftSlope, noise, noiseSlope float32
}

// table is a pair of coefficients prepared for stepping. States are in units of cells from
// the centre of cell 0, x = origin + unit·u, which saves the conversion of x in every step:
// cell i covers u ∈ [i−½, i+½]. There are as many cells on either side of cell 0; one of them
// may be outside the grid.
type table struct {
	frame
	top     float32 // the largest |u| in a cell; coefficients are constant beyond
	limit   float32 // that of the frame
	base    int32   // bits of the magic sum in the first cell
	cells   []cell
	columns *columns // the same for up to 64 cells, otherwise nil
}

// columns are cells transposed: each of their four numbers in four vectors of sixteen. Cells
// 0 to 31 are in the first half, −31 to 0 in the second at their numbers modulo 32, so the
// sign of a state selects the half.
type columns struct {
	drift, driftSlope, noise, noiseSlope [maxColumns]float32
}

const maxColumns = 64

func (t *columns) put(at uint, c cell) {
	t.drift[at], t.driftSlope[at], t.noise[at], t.noiseSlope[at] = c.drift, c.driftSlope, c.noise, c.noiseSlope
}

func newTable(c sde.Coefficients, dt float64) *table {
	n, h := c.Grid.N, c.Grid.Step()
	half := (n - 1) / 2 // cells on either side
	left := (n - 2) / 2 // cells on the left that are intervals of the grid
	t := &table{
		frame: frame{origin: [maxDim]float64{c.Grid.Lo + (float64(left)+0.5)*h}, unit: h, limit: bound / h},
		top:   math.Nextafter32(float32(half)+0.5, 0), // a tie would round to a cell too many
		base:  magicBits - int32(half),
		cells: make([]cell, 2*half+1),
	}
	t.limit = float32(t.frame.limit)
	perDrift, perNoise := dt/h, math.Sqrt(dt)/h
	for i := range t.cells {
		from := max(i+left-half, 0)
		to := i + left - half + 1
		b0, b1 := float64(c.Drift[from])*perDrift, float64(c.Drift[to])*perDrift
		s0, s1 := float64(c.Diffusion[from])*perNoise, float64(c.Diffusion[to])*perNoise
		u := float64(i - half) // the cell's centre
		t.cells[i] = cell{
			drift: float32((b0+b1)/2 - u*(b1-b0)), driftSlope: float32(b1 - b0),
			noise: float32((s0+s1)/2 - u*(s1-s0)), noiseSlope: float32(s1 - s0),
		}
	}
	if len(t.cells) <= maxColumns {
		t.columns = new(columns)
		for i, c := range t.cells {
			t.columns.put(uint(i-half)%maxColumns, c)
		}
		t.columns.put(maxColumns/2, t.cells[half])
	}
	return t
}

// magic is 1.5·2²³: adding it to |u| < 2²² rounds u to an integer, which the
// low bits of the sum then hold.
const (
	magic     = 3 << 22
	magicBits = 0x4b400000
)

// advance takes len(z)/lanes steps of the first active states; step k uses
// z[k·lanes+l] for state l.
func (t *table) advance(x *states[float32], active int, z []float32) bool {
	for ; len(z) >= lanes; z = z[lanes:] {
		t.step(x[:active], z[:active])
	}
	return bounded(x[:active], t.limit)
}

func (t *table) step(x, z []float32) {
	top, base, cells := t.top, uint32(t.base), t.cells
	z = z[:len(x)]
	for l, v := range x {
		u := v
		if !(u < top) { // also NaN, which v then keeps
			u = top
		}
		if u < -top {
			u = -top
		}
		c := &cells[math.Float32bits(u+magic)-base]
		x[l] = v + (float32(c.drift+float32(u*c.driftSlope)) + float32(float32(c.noise+float32(u*c.noiseSlope))*z[l]))
	}
}
