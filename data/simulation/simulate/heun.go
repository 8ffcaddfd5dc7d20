package simulate

import "github.com/ergoflow/ergoflow/data/equations/sde"

// heun takes the mean of the drift before and after a step of Euler's, with the noise of that step:
//
//	X̃ = X + b(X)dt + S(X)√dt·R,   X + ½(b(X) + b(X̃))dt + S(X)√dt·R
//
// It has Itô's law, since S is taken before the step. Weak order 2 for a constant S, otherwise 1
// (Kloeden and Platen, Numerical Solution of Stochastic Differential Equations, 1992, sections 15.1 and 15.5).
type heun struct{ drift blocks }

func newHeun(s sde.Space) *heun { return &heun{make(blocks, s.Dim())} }

func (*heun) begin(*cloud) {}

func (h *heun) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	h.drift.keep(c.drift)
	c.add(c.drift, c.z)
	c.evaluate(c.active)
	half := c.step.dt / 2
	for k, x := range c.x {
		x := x[:c.active]
		before, after := h.drift[k][:len(x)], c.drift[k][:len(x)]
		for l := range x {
			x[l] += float64(half * (after[l] - before[l]))
		}
	}
}
