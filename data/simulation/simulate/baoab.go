package simulate

import (
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// baoab is for positions q and velocities v with dq = c·v dt, dv = (F(q) − γv)dt + σ dW. A step
// composes halves of a kick by the force (B), of a move (A), and the exact Ornstein–Uhlenbeck process
// of the velocities (O) between them, with one evaluation of the force. Averages over the invariant law
// have order 2, and the positions of a harmonic force their exact law (Leimkuhler and Matthews, Appl.
// Math. Res. eXpress 2013).
type baoab struct {
	pairs []pair
	force [][lanes]float64
	saved [][lanes]float64 // velocities while the force is evaluated
}

// pair are a position, its velocity and what moves them.
type pair struct {
	q, v        int     // their coordinates
	rate        float64 // c
	friction    float64 // γ
	decay, kick float64 // of O in a step: v e^(−γdt) + σ√((1 − e^(−2γdt))/2γ)·R
}

func newBAOAB(s sde.Space, dt float64) (*baoab, error) {
	pairs, err := pairsOf(s)
	if err != nil {
		return nil, fmt.Errorf("%w; %v would do", err, suitedToFirstOrder(s))
	}
	_, sigma := s.Coefficients(s.Uniform(1, 0)) // a constant
	for k, p := range pairs {
		pairs[k].decay = math.Exp(-p.friction * dt)
		pairs[k].kick = math.Abs(sigma[p.v]) * math.Sqrt(-math.Expm1(-2*p.friction*dt)/(2*p.friction))
	}
	return &baoab{pairs, make([][lanes]float64, len(pairs)), make([][lanes]float64, len(pairs))}, nil
}

func (b *baoab) begin(c *cloud) { b.evaluate(c) }

func (b *baoab) take(c *cloud) {
	c.noise()
	half := c.step.dt / 2
	for k, p := range b.pairs {
		q := c.x[p.q][:c.active]
		v, z, force := c.x[p.v][:len(q)], c.z[p.v][:len(q)], b.force[k][:len(q)]
		for l := range q {
			kicked := v[l] + float64(half*force[l])
			position := q[l] + float64(float64(half*p.rate)*kicked)
			thermal := float64(p.decay*kicked) + float64(p.kick*float64(z[l]))
			q[l], v[l] = position+float64(float64(half*p.rate)*thermal), thermal
		}
	}
	b.evaluate(c)
	for k, p := range b.pairs {
		v := c.x[p.v][:c.active]
		force := b.force[k][:len(v)]
		for l := range v {
			v[l] += float64(half * force[l])
		}
	}
}

// evaluate computes the force: the drift of velocities that are 0.
func (b *baoab) evaluate(c *cloud) {
	for k, p := range b.pairs {
		b.saved[k] = *c.x[p.v]
		*c.x[p.v] = [lanes]float64{}
	}
	c.evaluate(c.active)
	for k, p := range b.pairs {
		b.force[k] = *c.drift[p.v]
		*c.x[p.v] = b.saved[k]
	}
}
