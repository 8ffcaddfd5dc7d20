package sde

import "slices"

// Coefficients writes the drift [n, 2] and the diffusion [n, 4], row after row, at points (x, y).
func (p Plane) Coefficients(drift, diffusion, x, y []float64) {
	for i := range x {
		b, s := p.At(x[i], y[i])
		copy(drift[2*i:], b[:])
		copy(diffusion[4*i:], s[:])
	}
}

// InPlane is an equation in the plane with a box, of which at has the coefficients, as Plane.Coefficients
// does. Its noise is additive if it is the same at 64 states of the box.
func InPlane(at func(drift, diffusion, x, y []float64), x, y Interval) Space {
	s := Space{Box: []Interval{x, y}, Terms: 4}
	s.Bind = func(_ string, x []*[Lanes]float64) (func(int), []*[Lanes]float64, []*[Lanes]float64) {
		drift, diffusion := s.Blocks(), slices.Concat(s.Blocks(), s.Blocks())
		b, sigma := make([]float64, 2*Lanes), make([]float64, 4*Lanes)
		return func(n int) {
			at(b, sigma, x[0][:n], x[1][:n])
			for l := range n {
				for k := range drift {
					drift[k][l] = b[2*l+k]
				}
				for k := range diffusion {
					diffusion[k][l] = sigma[4*l+k]
				}
			}
		}, drift, diffusion
	}
	_, sigma := s.Coefficients(s.Uniform(Lanes, 1))
	if slices.Equal(sigma[s.Terms:], sigma[:len(sigma)-s.Terms]) {
		s.Noise = AdditiveNoise
	}
	return s
}
