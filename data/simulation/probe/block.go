package probe

import (
	"fmt"
	"sync"

	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// lanes is the number of sensors that move together: vector instructions make their
// normals, and the processor overlaps their lookups of coefficients.
const lanes = simulate.Lanes

// block has the positions and the noise of up to lanes sensors.
type block struct {
	x, y   [lanes]float32
	active int
	noise  *simulate.Noise
	window *[simulate.Window * lanes]float32
}

var pool = sync.Pool{New: func() any { return new(block) }}

// borrow takes a block without sensors from the pool.
func borrow() *block {
	b := pool.Get().(*block)
	b.noise = simulate.BorrowNoise()
	return b
}

func (b *block) giveBack() {
	b.noise.Return()
	b.noise, b.window = nil, nil
	pool.Put(b)
}

// blocks records all sensors. start turns two uniform numbers into the first state. record
// writes a row of every sensor of a block, the first at dst, and moves each with two normal
// numbers.
func (c Config) blocks(
	dst []float32, s stream, start func(u, v float64) (x, y float64), record func(b *block, dst, zx, zy []float32),
) error {
	features := c.Features()
	for first := 0; first < c.Sensors; first += lanes {
		if err := c.block(dst[first*c.Steps*features:], features, first, s, start, record); err != nil {
			return err
		}
	}
	return nil
}

func (c Config) block(
	dst []float32, features, first int, s stream,
	start func(u, v float64) (x, y float64), record func(b *block, dst, zx, zy []float32),
) error {
	b := borrow()
	defer b.giveBack()
	b.active = min(lanes, c.Sensors-first)
	for l := range b.active {
		source := s.sensor(first + l)
		u, v := source.Uniform(), source.Uniform()
		x, y := start(float64(u), float64(v))
		b.x[l], b.y[l] = float32(x), float32(y)
		b.noise.Add(source)
	}
	for step := range c.Steps {
		zx, zy := b.normals(step)
		record(b, dst[step*features:], zx, zy)
	}
	// One check at the end suffices: a state that is not finite stays so.
	if l := b.outside(); l >= 0 {
		return fmt.Errorf("sensor %d ends at (%v, %v): %w", first+l, b.x[l], b.y[l], ErrDiverged)
	}
	return nil
}

// normals returns the normals of a step for all sensors, by coordinate. Steps must be
// requested in order.
func (b *block) normals(step int) (zx, zy []float32) {
	const perWindow = simulate.Window / 2
	at := step % perWindow
	if at == 0 {
		b.window = b.noise.Next()
	}
	z := b.window[2*at*lanes:]
	return z[:b.active], z[lanes:][:b.active]
}

// outside finds a sensor that is not finite or beyond simulate.Bound; −1 if there is none.
func (b *block) outside() int {
	for l, x := range b.x[:b.active] {
		y := b.y[l]
		if !(x > -simulate.Bound && x < simulate.Bound && y > -simulate.Bound && y < simulate.Bound) {
			return l
		}
	}
	return -1
}
