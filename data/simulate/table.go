package simulate

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
)

// EulerMaruyama fills dst with samples of
//
//	Xₙ₊₁ = Xₙ + b(Xₙ)Δt + σ(Xₙ)√Δt ξₙ,  ξₙ ~ N(0, I), X₀ ~ N(0, Start²·I)
//
// (Itô, weak order 1), with b and σ as the system interpolates them. Chain k has
// dst[k·len(dst)/Chains : (k+1)·len(dst)/Chains], which must divide, sample by
// sample: shape [Chains, samples, system.Dim()]. The arithmetic is in float32
// without fused operations, the same on every platform and Engine but for the
// last bit of a normal in 65,536 between platforms (normals). It runs on the
// calling goroutine alone, on the fastest engine; Each spreads functions over
// the cores.
//
// Errors name the function; ErrDiverged also chain and step. dst must not be
// used after an error.
func EulerMaruyama(
	ctx context.Context, dst []float32, system sde.System, s Scheme, seed, function uint64, purpose string,
) error {
	return engines[0].EulerMaruyama(ctx, dst, system, s, seed, function, purpose)
}

// cell is one interval of the grid: b·Δt and σ·√Δt at its centre, and what
// they change over it.
type cell struct {
	drift, driftSlope, noise, noiseSlope float32
}

// table is a pair of coefficients prepared for stepping. With
// u = x·scale + offset, cell i covers u ∈ [i−½, i+½]. One more cell, constant,
// catches the end of the last one when the tie at its edge rounds up.
type table struct {
	scale, offset, top float32
	cells              []cell
	columns            *columns // the same for up to 64 cells, otherwise nil
}

// columns are cells with each of their four numbers side by side: what four
// vectors of sixteen hold.
type columns struct {
	drift, driftSlope, noise, noiseSlope [maxColumns]float32
}

const maxColumns = 64

func newTable(c sde.Coefficients, dt float64) *table {
	n, h := c.Grid.N, c.Grid.Step()
	t := &table{
		scale:  float32(1 / h),
		offset: float32(-c.Grid.Lo/h - 0.5),
		top:    float32(n) - 1.5,
		cells:  make([]cell, n),
	}
	root := math.Sqrt(dt)
	for i := range n - 1 {
		b0, b1 := float64(c.Drift[i])*dt, float64(c.Drift[i+1])*dt
		s0, s1 := float64(c.Diffusion[i])*root, float64(c.Diffusion[i+1])*root
		t.cells[i] = cell{float32((b0 + b1) / 2), float32(b1 - b0), float32((s0 + s1) / 2), float32(s1 - s0)}
	}
	t.cells[n-1] = cell{drift: float32(float64(c.Drift[n-1]) * dt), noise: float32(float64(c.Diffusion[n-1]) * root)}
	if n <= maxColumns {
		t.columns = new(columns)
		for i, c := range t.cells {
			t.columns.drift[i], t.columns.driftSlope[i] = c.drift, c.driftSlope
			t.columns.noise[i], t.columns.noiseSlope[i] = c.noise, c.noiseSlope
		}
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
	return bounded(x[:active])
}

func (t *table) step(x, z []float32) {
	scale, offset, top, cells := t.scale, t.offset, t.top, t.cells
	z = z[:len(x)]
	for l, v := range x {
		u := float32(v*scale) + offset
		if u > top {
			u = top
		}
		if !(u >= -0.5) { // also NaN, which v then keeps
			u = -0.5
		}
		m := u + magic
		d := u - (m - magic)
		c := &cells[math.Float32bits(m)-magicBits]
		x[l] = v + (float32(c.drift+float32(d*c.driftSlope)) + float32(float32(c.noise+float32(d*c.noiseSlope))*z[l]))
	}
}
