package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/sde"
)

// EulerMaruyama fills dst with samples of
//
//	Xₙ₊₁ = Xₙ + b(Xₙ)Δt + σ(Xₙ)√Δt ξₙ,  ξₙ ~ N(0, 1), X₀ ~ N(0, 1)
//
// (Itô, weak order 1), with b and σ linear between the nodes of c and constant
// outside. Chain k has dst[k·len(dst)/Chains : (k+1)·len(dst)/Chains], which
// must divide. The arithmetic is in float32 without fused operations, the same
// on every platform but for the last bit of a normal in 65,536 (normals). It
// runs on the calling goroutine alone; Batch spreads functions over the cores.
//
// Errors name the function; ErrDiverged also chain and step. dst must not be
// used after an error.
func EulerMaruyama(
	ctx context.Context, dst []float32, c sde.Coefficients, s Scheme, seed, function uint64, purpose string,
) error {
	perChain, err := s.samplesPerChain(len(dst))
	if err == nil {
		err = c.Validate()
	}
	if err != nil {
		return fmt.Errorf("function %d: %w", function, err)
	}
	t := newTable(c, s.DT)
	state := new(chains[float32])
	for first := 0; first < s.Chains; first += lanes {
		state.active = min(lanes, s.Chains-first)
		part := dst[first*perChain : (first+state.active)*perChain]
		err := state.run(ctx, part, s, first, stream{seed, purpose, function}, t.advance, func(int) {})
		if err != nil {
			return err
		}
	}
	return nil
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
}

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
	return t
}

// magic is 1.5·2²³: adding it to |u| < 2²² rounds u to an integer, which the
// low bits of the sum then hold.
const (
	magic     = 3 << 22
	magicBits = 0x4b400000
)

// advance takes len(z)/lanes steps of all states; step k uses z[k·lanes+l] for
// state l.
func (t *table) advance(x []float32, z []float32) {
	for len(z) >= lanes {
		t.step(x, z[:len(x)])
		z = z[lanes:]
	}
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
