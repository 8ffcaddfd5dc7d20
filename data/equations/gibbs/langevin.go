package gibbs

import "math"

// Langevin takes steps of the Metropolis-adjusted Langevin algorithm (Roberts and Tweedie, Bernoulli 2,
// 1996), from x to
//
//	y = x + h b(x) + √h σξ,  b = ½A ∇ log π,
//
// accepted with the probability min(1, π(y)q(x|y) / π(x)q(y|x)), where q is the density of a step. π is
// invariant whatever h is. It is for one goroutine.
type Langevin struct {
	law          Law
	noise, drift []float64 // [n, d]
	back         []float64 // [d]
}

// NewLangevin is for n states at a time.
func NewLangevin(law Law, n int) *Langevin {
	size := n * law.Dim()
	return &Langevin{law, make([]float64, size), make([]float64, size), make([]float64, law.Dim())}
}

// Step moves the n states of p, by normal numbers z and uniform ones u in [0, 1), of which it takes those for
// all coordinates and then one for each state. accepted gets the number of each state that moves.
func (m *Langevin) Step(p Points, h float64, z, u func() float64, accepted func(i int)) {
	d := m.law.Dim()
	for i := range m.noise {
		m.noise[i] = z()
	}
	m.law.Noise(m.noise)
	m.law.Drift(m.drift, p.Gradient)
	y := make([]float64, len(p.X))
	for i, v := range p.X {
		y[i] = v + float64(h*m.drift[i]) + float64(math.Sqrt(h)*m.noise[i])
	}
	to := m.law.Next(p, y)
	m.law.Drift(m.drift, to.Gradient)
	for i := range p.Log {
		at := i * d
		forth := m.law.Quadratic(m.noise[at:at+d]) / 2
		for j := range m.back { // from y to x
			m.back[j] = p.X[at+j] - y[at+j] - float64(h*m.drift[at+j])
		}
		ratio := to.Log[i] - p.Log[i] + forth - m.law.Quadratic(m.back)/(2*h)
		if math.Log(u()) < ratio {
			p.Accept(i, to)
			accepted(i)
		}
	}
}
