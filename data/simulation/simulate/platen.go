package simulate

import "github.com/ergoflow/ergoflow/data/equations/sde"

// platen is Platen's explicit scheme of weak order 2, for a diagonal diffusion of which number k
// depends on coordinate k alone, so that the terms of pairs of noises are zero. For each coordinate it is
//
//	X + ½(b(X) + b(X̃))dt + ¼(σ(X⁺) + σ(X⁻) + 2σ(X))√dt·R + ¼(σ(X⁺) − σ(X⁻))√dt·(R² − 1)
//	X̃ = X + b dt + σ√dt·R,   X± = X + b dt ± σ√dt
//
// with four evaluations. Of a constant σ it is Heun's scheme, with two (Kloeden and Platen 1992, 15.1.3).
type platen struct{ drift, diffusion, above, below blocks }

func newPlaten(s sde.Space) *platen {
	return &platen{make(blocks, s.Dim()), make(blocks, s.Terms), make(blocks, s.Terms), make(blocks, s.Terms)}
}

func (*platen) begin(*cloud) {}

func (p *platen) take(c *cloud) {
	c.evaluate(c.active)
	c.noise()
	p.drift.keep(c.drift)
	p.diffusion.keep(c.diffusion)
	dt, root := c.step.dt, c.step.root
	c.support(p.drift, p.diffusion, root)
	p.above.keep(c.diffusion)
	c.support(p.drift, p.diffusion, -root)
	p.below.keep(c.diffusion)
	for k, x := range c.x {
		x := x[:c.active]
		b, sigma, z := p.drift[k][:len(x)], p.diffusion.of(k)[:len(x)], c.z[k][:len(x)]
		for l, v := range c.before[k][:len(x)] {
			x[l] = v + (float64(b[l]*dt) + float64(float64(sigma[l]*root)*float64(z[l])))
		}
	}
	c.evaluate(c.active)
	half, quarter := dt/2, root/4
	for k, x := range c.x {
		x := x[:c.active]
		before, after, normals := p.drift[k][:len(x)], c.drift[k][:len(x)], c.z[k][:len(x)]
		sigma, above, below := p.diffusion.of(k)[:len(x)], p.above.of(k)[:len(x)], p.below.of(k)[:len(x)]
		for l, v := range c.before[k][:len(x)] {
			z := float64(normals[l])
			mean := float64((above[l] + below[l] + 2*sigma[l]) * z)
			curved := float64((above[l] - below[l]) * (float64(z*z) - 1))
			x[l] = v + (float64(half*(before[l]+after[l])) + float64(quarter*(mean+curved)))
		}
	}
}
