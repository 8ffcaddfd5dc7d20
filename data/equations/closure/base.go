package closure

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Standardise turns states x [n, d] into z = Factor⁻¹(x − Mean), in place.
func (b Base) Standardise(x []float32) {
	d := len(b.Mean)
	z := make([]float64, d)
	for at := 0; at < len(x); at += d {
		for r := range d {
			sum := float64(x[at+r]) - b.Mean[r]
			for k := range r {
				sum -= b.Factor[r*d+k] * z[k]
			}
			z[r] = sum / b.Factor[r*d+r]
		}
		for r, v := range z {
			x[at+r] = float32(v)
		}
	}
}

// Restore is the inverse of Standardise.
func (b Base) Restore(z []float32) {
	d := len(b.Mean)
	for at := 0; at < len(z); at += d {
		for r := d - 1; r >= 0; r-- { // coordinate r depends on those up to r alone
			sum := b.Mean[r]
			for k := range r + 1 {
				sum += float64(b.Factor[r*d+k] * float64(z[at+k]))
			}
			z[at+r] = float32(sum)
		}
	}
}

// LogVolume is log |det Factor|.
func (b Base) LogVolume() (sum float64) {
	d := len(b.Mean)
	for r := range d {
		sum += math.Log(b.Factor[r*d+r])
	}
	return sum
}

// Terms is how many numbers the diffusion of a Space with so many has in the coordinates of a Base.
func Terms(dim, terms int) int {
	switch {
	case dim == 1:
		return 1
	case dim <= Full || terms > dim:
		return dim * dim
	}
	return dim
}

// boxOf z is where probes start.
const boxOf = 2.5

// Equation is that of z, dz = Factor⁻¹b(x)dt + Factor⁻¹S(x)dW.
func (b Base) Equation(s sde.Space) sde.Space {
	d := s.Dim()
	moved := sde.Space{Box: make([]sde.Interval, d), Terms: Terms(d, s.Terms)}
	for k := range moved.Box {
		moved.Box[k] = sde.Interval{Lo: -boxOf, Hi: boxOf}
	}
	inverse := b.inverse()
	moved.Bind = func(engine string, z []*[sde.Lanes]float64) (func(int), []*[sde.Lanes]float64, []*[sde.Lanes]float64) {
		x := s.Blocks()
		evaluate, drift, diffusion := s.Bind(engine, x)
		ours, sigma := moved.Blocks(), make([]*[sde.Lanes]float64, moved.Terms)
		memory := make([][sde.Lanes]float64, moved.Terms)
		for k := range sigma {
			sigma[k] = &memory[k]
		}
		return func(n int) {
			b.place(x, z, n)
			evaluate(n)
			for r := range d {
				combine(ours[r], inverse[r*d:(r+1)*d], func(k int) *[sde.Lanes]float64 { return drift[k] }, n)
			}
			b.turn(sigma, inverse, diffusion, n)
		}, ours, sigma
	}
	return moved
}

// inverse of the factor, lower triangular.
func (b Base) inverse() []float64 {
	d := len(b.Mean)
	inverse := make([]float64, d*d)
	for c := range d {
		for r := c; r < d; r++ {
			sum := 0.
			if r == c {
				sum = 1
			}
			for k := c; k < r; k++ {
				sum -= b.Factor[r*d+k] * inverse[k*d+c]
			}
			inverse[r*d+c] = sum / b.Factor[r*d+r]
		}
	}
	return inverse
}

// place writes the first n states x of z.
func (b Base) place(x, z []*[sde.Lanes]float64, n int) {
	d := len(b.Mean)
	for r := range d {
		combine(x[r], b.Factor[r*d:(r+1)*d], func(k int) *[sde.Lanes]float64 { return z[k] }, n)
		for l := range n {
			x[r][l] += b.Mean[r]
		}
	}
}

// combine is the sum of blocks with weights, of which those that are 0 do not count.
func combine(dst *[sde.Lanes]float64, weights []float64, of func(k int) *[sde.Lanes]float64, n int) {
	clear(dst[:n])
	for k, w := range weights {
		if w == 0 {
			continue
		}
		from := of(k)
		for l := range n {
			dst[l] += float64(w * from[l])
		}
	}
}

// turn writes Factor⁻¹S: a diagonal where both are, else a matrix.
func (b Base) turn(dst []*[sde.Lanes]float64, inverse []float64, diffusion []*[sde.Lanes]float64, n int) {
	d := len(b.Mean)
	if len(dst) < d*d {
		for r := range dst {
			combine(dst[r], inverse[r*d+r:][:1], func(int) *[sde.Lanes]float64 { return diffusion[min(r, len(diffusion)-1)] }, n)
		}
		return
	}
	for r := range d {
		for c := range d {
			if len(diffusion) == d*d && d > 1 {
				combine(dst[r*d+c], inverse[r*d:(r+1)*d], func(k int) *[sde.Lanes]float64 { return diffusion[k*d+c] }, n)
				continue
			}
			combine(dst[r*d+c], inverse[r*d+c:][:1], func(int) *[sde.Lanes]float64 { return diffusion[min(c, len(diffusion)-1)] }, n)
		}
	}
}
