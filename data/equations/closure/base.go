package closure

import (
	"math"

	"github.com/ergoflow/ergoflow/data/equations/lift"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// Standardise turns states x [n, d] into z = Factor⁻¹(x − Mean), in place, with x in the coordinates
// of package lift.
func (b Base) Standardise(x []float32) {
	d := len(b.Mean)
	z := make([]float64, d)
	for at := 0; at < len(x); at += d {
		for r := range d {
			sum := b.lifted(r, x[at+r]) - b.Mean[r]
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

// lifted is coordinate k of package lift for a state. Behind a reflecting end it has the mirror image
// of half of the states, so that the law is symmetric and has no edge: a hash of the bits decides.
func (b Base) lifted(k int, x float32) float64 {
	r := b.Domain.At(k)
	v := lift.Up(r, float64(x))
	if r.Ends != sde.Reflecting || !coin(x, k) {
		return v
	}
	if end := r.Lo; !math.IsInf(end, 0) {
		return end - (v - end)
	}
	return r.Hi + (r.Hi - v)
}

// coin is a fair coin for coordinate k of a state (the finaliser of MurmurHash3).
func coin(x float32, k int) bool {
	h := math.Float32bits(x) + uint32(k)*0x9e3779b9
	h = (h ^ h>>16) * 0x85ebca6b
	h = (h ^ h>>13) * 0xc2b2ae35
	return (h^h>>16)&1 == 1
}

// Restore is the inverse of Standardise: whatever z, its states are in the domain, or not finite.
func (b Base) Restore(z []float32) {
	d := len(b.Mean)
	for at := 0; at < len(z); at += d {
		for r := d - 1; r >= 0; r-- { // coordinate r depends on those up to r alone
			sum := b.Mean[r]
			for k := range r + 1 {
				sum += float64(b.Factor[r*d+k] * float64(z[at+k]))
			}
			z[at+r] = float32(sum)
			if len(b.Domain) > 0 && sum-sum == 0 {
				z[at+r] = b.Domain[r].Single(lift.Down(b.Domain[r], sum))
			}
		}
	}
}

// LogVolume is log |det ∂x/∂z|, that of Factor. It is NaN where it is not the same everywhere: on a
// domain with ends, where several z may even have one state.
func (b Base) LogVolume() (sum float64) {
	d := len(b.Mean)
	if b.Domain.Restricts() {
		return math.NaN()
	}
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

// Equation is that of z, dz = Factor⁻¹b(x)dt + Factor⁻¹S(x)dW. Its domain has circles at most.
func (b Base) Equation(s sde.Space) sde.Space {
	s = lift.Of(s)
	d := s.Dim()
	moved := sde.Space{Box: make([]sde.Interval, d), Domain: make(sde.Domain, d), Terms: Terms(d, s.Terms)}
	for k := range moved.Box {
		moved.Box[k], moved.Domain[k] = sde.Interval{Lo: -boxOf, Hi: boxOf}, sde.WholeLine
		if r := s.Domain.At(k); r.Ends == sde.Joined {
			scale := b.Factor[k*d+k]
			moved.Domain[k] = sde.Range{Ends: sde.Joined, Lo: (r.Lo - b.Mean[k]) / scale, Hi: (r.Hi - b.Mean[k]) / scale}
			moved.Box[k] = sde.Interval{Lo: moved.Domain[k].Lo, Hi: moved.Domain[k].Hi}
		}
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
