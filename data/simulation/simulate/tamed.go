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

	largest, sum [lanes]float64 // components of the drift, and their squares
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
	n := c.active
	largest, sum := t.largest[:n], t.sum[:n]
	clear(largest)
	clear(sum)
	for _, b := range c.drift {
		for l, b := range b[:len(largest)] {
			largest[l] = max(largest[l], math.Abs(b))
		}
	}
	// Relative to the largest component, whose square may be too large for a number.
	for _, b := range c.drift {
		for l, b := range b[:len(sum)] {
			part := b / max(largest[l], math.SmallestNonzeroFloat64)
			sum[l] += float64(part * part)
		}
	}
	for l := range sum {
		sum[l] = 1 + float64(c.step.dt*float64(largest[l]*math.Sqrt(sum[l])))
	}
	for k, b := range c.drift {
		to := t.memory[k][:len(sum)]
		for l, b := range b[:len(sum)] {
			to[l] = b / sum[l]
		}
	}
	c.add(t.drift, c.z)
}
