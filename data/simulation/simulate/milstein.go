package simulate

import "github.com/ergoflow/ergoflow/data/equations/sde"

// milstein is Milstein's scheme without derivatives, for a diagonal diffusion of which number k
// depends on coordinate k alone. For each coordinate it is
//
//	X + b dt + σ√dt·R + ½(σ(X̄) − σ(X))√dt·(R² − 1),   X̄ = X + b dt + σ√dt
//
// with strong order 1, where Euler's is ½. The weak order is 1, as Euler's (Platen 1984; Kloeden and
// Platen 1992, 11.1.3).
type milstein struct{ drift, diffusion blocks }

func newMilstein(s sde.Space) *milstein {
	return &milstein{make(blocks, s.Dim()), make(blocks, s.Terms)}
}

func (*milstein) begin(*cloud) {}

func (m *milstein) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	m.drift.keep(c.drift)
	m.diffusion.keep(c.diffusion)
	dt, root := c.step.dt, c.step.root
	c.support(m.drift, m.diffusion, root)
	for k, x := range c.x {
		x := x[:c.active]
		b, sigma, beyond := m.drift[k][:len(x)], m.diffusion.of(k)[:len(x)], c.diffusion[min(k, len(c.diffusion)-1)][:len(x)]
		before, normals := c.before[k][:len(x)], c.z[k][:len(x)]
		for l, v := range before {
			z := float64(normals[l])
			curved := float64(float64(0.5*(beyond[l]-sigma[l])) * (float64(z*z) - 1))
			x[l] = v + (float64(b[l]*dt) + float64(root*(float64(sigma[l]*z)+curved)))
		}
	}
}
