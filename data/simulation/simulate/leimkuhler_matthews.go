package simulate

import "github.com/ergoflow/ergoflow/data/equations/sde"

// leimkuhlerMatthews is X + b dt + S√dt·(R + R′)/2, where R′ is the next step's R: the limit of BAOAB
// for a large friction. For b = −½SSᵀ∇U and a constant S its averages over the invariant law have order
// 2, at the cost of Euler's, and a linear equation in one dimension has its exact law.
// For other drifts, which turn, its order is 1 (Leimkuhler and Matthews, Appl. Math. Res. eXpress 2013;
// Leimkuhler, Matthews and Tretyakov, Proc. R. Soc. A 470, 2014).
type leimkuhlerMatthews struct {
	last, mean [][lanes]float32 // normals of the step before, and means of two steps
}

func newLeimkuhlerMatthews(s sde.Space) *leimkuhlerMatthews {
	return &leimkuhlerMatthews{make([][lanes]float32, s.Dim()), make([][lanes]float32, s.Dim())}
}

func (r *leimkuhlerMatthews) begin(c *cloud) {
	c.noise()
	copy(r.last, c.z)
}

func (r *leimkuhlerMatthews) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	for k := range c.z {
		z := c.z[k][:c.active]
		last, mean := r.last[k][:len(z)], r.mean[k][:len(z)]
		for l, z := range z {
			mean[l], last[l] = 0.5*(last[l]+z), z
		}
	}
	c.add(c.drift, r.mean)
}

// exchange takes the normals of the step before along with two states, to the lanes of each other's
// temperature. hotter is the ratio of √T of the lanes.
func (r *leimkuhlerMatthews) exchange(cold, hot int, hotter float32) {
	for k := range r.last {
		z := &r.last[k]
		z[cold], z[hot] = z[hot]/hotter, z[cold]*hotter
	}
}
