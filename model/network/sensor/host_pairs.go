package sensor

import (
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/model/network/kernels"
)

// hostPairs is what the pairs of particles of a block of states have: see pairs.go.
type hostPairs struct {
	n, k    int       // particles of a state, functions of a distance
	spacing float32   // of the functions
	scale   []float32 // 1/√N, [K]
	rho     []float32 // ρ_k(|d_ij|)/√N, [states, N × N, K]
	x, y    []float32 // d_ij, [states, N × N]
	own     []float32 // ρ_k(|y_i|), [states, N, K]
	heard   []float32 // [m; √(1 + |w|²) − 1], [states, N, 2K]
	sums    []float32 // m and w of one particle, [3, K]
	end     []float32 // y, [states, N, 2]
	ones    []float32 // [D]
	zeros   []float32
}

func newHostPairs(states, n, k, width int) *hostPairs {
	return &hostPairs{
		n: n, k: k, spacing: float32(radialSpacing(k)), scale: slices.Repeat([]float32{float32(1 / math.Sqrt(float64(n)))}, k),
		rho: make([]float32, states*n*n*k), x: make([]float32, states*n*n), y: make([]float32, states*n*n),
		own: make([]float32, states*n*k), heard: make([]float32, states*n*2*k), sums: make([]float32, 3*k),
		end: make([]float32, states*n*2), ones: slices.Repeat([]float32{1}, width), zeros: make([]float32, width),
	}
}

// decodePairs writes the velocities u of a block of states at time 1 − left to dst.
func (h *Host) decodePairs(dst, x []float32, left float32, s *hostScratch, input *kernels.Dense, moments []hostMoment) {
	p := s.pairs
	rows, width := len(x)/2, h.config.DecoderWidth
	state, scratch := s.h[:rows*width], s.u[:rows*width]
	clear(dst)
	end := p.end[:len(x)]
	copy(end, x)
	for i, m := range moments {
		own := p.see(end)
		if i == 0 {
			input.Apply(state, own, kernels.Linear)
		}
		m.exchange(state, scratch, own, s)
		m.forward(state, scratch, s, width)
		kernels.Normalise(scratch, state, p.ones, p.zeros, kernels.Linear)
		coefficients := s.v[:rows*(1+p.k)]
		m.push.Apply(coefficients, scratch, kernels.Linear)
		p.along(dst, end, coefficients)
		for k, v := range dst {
			end[k] = x[k] + left*v
		}
	}
}

// see looks at states x [states, N, 2], and returns what the particles know of themselves,
// [states·N, K].
func (p *hostPairs) see(x []float32) (own []float32) {
	n, k := p.n, p.k
	for i := range len(x) / 2 {
		radial(p.own[i*k:(i+1)*k], x[2*i]*x[2*i]+x[2*i+1]*x[2*i+1], p.spacing)
		first := i / n * n // of its state
		for j := range i - first + 1 {
			to, back := i*n+j, (first+j)*n+i-first
			dx, dy := x[2*i]-x[2*(first+j)], x[2*i+1]-x[2*(first+j)+1]
			p.x[to], p.y[to], p.x[back], p.y[back] = dx, dy, -dx, -dy
			rho := p.rho[to*k : (to+1)*k]
			radial(rho, dx*dx+dy*dy, p.spacing)
			kernels.Scale(rho, p.scale)
			copy(p.rho[back*k:(back+1)*k], rho)
		}
	}
	return p.own[:len(x)/2*k]
}

// exchange is the first branch of a block of pairs, of h [states·N, D] that know own [states·N, K]
// of themselves; u is scratch of the size of h.
func (m hostMoment) exchange(h, u, own []float32, s *hostScratch) {
	kernels.Normalise(u, h, m.gain[0], m.shift[0], kernels.Linear)
	p := s.pairs
	particles := len(h) / len(m.gain[0])
	value := s.v[:particles*p.k]
	m.joint.Apply(value, u, kernels.Linear)
	heard := p.heard[:particles*2*p.k]
	for i := range particles {
		first, row := i/p.n*p.n, i*p.n
		kernels.Messages(p.sums, p.rho[row*p.k:(row+p.n)*p.k], value[first*p.k:(first+p.n)*p.k], p.x[row:row+p.n], p.y[row:row+p.n])
		of := heard[i*2*p.k : (i+1)*2*p.k]
		copy(of, p.sums[:p.k])
		for k := range p.k {
			x, y := p.sums[p.k+k], p.sums[2*p.k+k]
			of[p.k+k] = float32(math.Sqrt(float64(1+x*x+y*y))) - 1
		}
	}
	if m.features != nil {
		kernels.Scale(heard, m.features[:2*p.k])
	}
	m.attended.Apply(u, heard, kernels.Linear)
	kernels.AddScaled(h, u, m.gate)
	m.own.Apply(u, own, kernels.Linear)
	kernels.AddScaled(h, u, p.ones)
}

// along adds what tokens with coefficients [states·N, 1+K] push to u [states, N, 2], at y of that
// shape.
func (p *hostPairs) along(u, y, coefficients []float32) {
	n, k := p.n, p.k
	of := func(i int) []float32 { return coefficients[i*(1+k)+1 : (i+1)*(1+k)] }
	for i := range len(y) / 2 {
		own := coefficients[i*(1+k)]
		ux, uy := own*y[2*i], own*y[2*i+1]
		for j := range n {
			at := i*n + j
			rho := p.rho[at*k : (at+1)*k]
			force := kernels.Dot(rho, of(i)) + kernels.Dot(rho, of(i/n*n+j))
			ux += force * p.x[at]
			uy += force * p.y[at]
		}
		u[2*i] += ux
		u[2*i+1] += uy
	}
}
