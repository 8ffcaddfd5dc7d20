package simulate

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// tamed is the tamed Euler scheme X + b dt/(1 + |b|dt) + S√dt·R, with Euclid's norm: the drift moves a
// state by less than 1, so that one which grows faster than in proportion does not throw it further out
// each time. Order 1, with a larger error than Euler's where that does not diverge (Hutzenthaler,
// Jentzen and Kloeden, Ann. Appl. Probab. 22, 2012).
type tamed struct {
	memory blocks
	drift  []*[lanes]float64 // in memory
}

func newTamed(s sde.Space) *tamed {
	t := &tamed{memory: make(blocks, s.Dim())}
	for k := range t.memory {
		t.drift = append(t.drift, &t.memory[k])
	}
	return t
}

func (*tamed) begin(*cloud) {}

func (t *tamed) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	for l := range c.active {
		// Relative to the largest component, whose square may be too large for a number.
		largest, sum := 0., 0.
		for _, b := range c.drift {
			largest = max(largest, math.Abs(b[l]))
		}
		for _, b := range c.drift {
			part := b[l] / max(largest, math.SmallestNonzeroFloat64)
			sum += float64(part * part)
		}
		size := 1 + float64(c.step.dt*float64(largest*math.Sqrt(sum)))
		for k, b := range c.drift {
			t.memory[k][l] = b[l] / size
		}
	}
	c.add(t.drift, c.z)
}
