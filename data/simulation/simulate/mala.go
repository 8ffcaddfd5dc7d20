package simulate

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// mala is the Metropolis-adjusted Langevin algorithm: a step of Euler's from x to y, accepted with the
// probability min(1, π(y)q(y→x)/(π(x)q(x→y))), where q is the density of the step. For b = −½SSᵀ∇U and
// a constant S it leaves π = exp(−U) invariant whatever the time step is. A step that is not accepted
// leaves the state where it is (Roberts and Tweedie, Bernoulli 2, 1996).
//
// With Δ = y − x, A = SSᵀ and g(t) = b(x + tΔ)·A⁻¹Δ the logarithm of the ratio is
//
//	2∫g dt − g(0) − g(1) + ½dt(b(x)·A⁻¹b(x) − b(y)·A⁻¹b(y)),
//
// of which Lobatto's rule with 4 points takes the integral: U need not be given. The rule is exact for
// drifts of degree 5 and has an error of the order of |Δ|⁷ otherwise.
type mala struct {
	inverse   []float64 // of A, [dim, dim]
	to        blocks    // y; x is what the cloud has had before
	weights   blocks    // A⁻¹Δ
	product   [lanes]float64
	slope     [lanes]float64 // g of the two points within, less those of the ends
	quadratic [lanes]float64 // b·A⁻¹b of x, less that of y
	sources   [lanes]Source  // of the acceptances
	accepted  [lanes]int     // steps
	taken     int            // steps
}

// ErrStuck means that the steps of a chain are never accepted.
var ErrStuck = errors.New("no step of a chain is accepted")

// Points of Lobatto's rule on [0, 1] within the interval. They have five times the weight of its ends, 1/12.
var lobatto = [2]float64{(1 - 1/math.Sqrt(5)) / 2, (1 + 1/math.Sqrt(5)) / 2}

func newMALA(s sde.Space) (*mala, error) {
	inverse, err := inverseNoise(s)
	if err != nil {
		return nil, err
	}
	d := s.Dim()
	return &mala{inverse: inverse, to: make(blocks, d), weights: make(blocks, d)}, nil
}

func (m *mala) begin(c *cloud) {
	m.taken, m.accepted = 0, [lanes]int{}
	for l := range c.active {
		m.sources[l] = NewSource(c.stream.seed, c.stream.purpose+" acceptances", c.stream.function, uint64(c.first+l))
	}
}

func (m *mala) take(c *cloud) {
	n := c.active
	clear(m.slope[:n])
	clear(m.quadratic[:n])
	c.evaluate(n)
	c.noise()
	c.add(c.drift, c.z)
	m.to.keep(c.x)
	for k, x := range c.x { // Δ, for a moment
		for l := range x[:n] {
			x[l] -= c.before[k][l]
		}
	}
	for k := range m.weights {
		m.weights[k] = *m.row(k, c.x, n)
	}
	m.lean(c, -1)
	m.square(c, +1)
	for _, t := range lobatto {
		for k, x := range c.x {
			from, to := c.before[k][:n], m.to[k][:n]
			for l := range from {
				x[l] = from[l] + float64(t*(to[l]-from[l]))
			}
		}
		c.evaluate(n)
		m.lean(c, +1)
	}
	for k, x := range c.x {
		*x = m.to[k]
	}
	c.evaluate(n)
	m.lean(c, -1)
	m.square(c, -1)
	m.accept(c)
}

// row is row k of A⁻¹ times a vector of each lane, until the next call.
func (m *mala) row(k int, vector []*[lanes]float64, n int) *[lanes]float64 {
	product := m.product[:n]
	clear(product)
	for j, a := range m.inverse[k*len(vector):][:len(vector)] {
		if a == 0 {
			continue
		}
		v := vector[j][:len(product)]
		for l := range product {
			product[l] += float64(a * v[l])
		}
	}
	return &m.product
}

// lean adds b·A⁻¹Δ of the last evaluation, or takes it away.
func (m *mala) lean(c *cloud, sign float64) {
	for k, b := range c.drift {
		addProduct(m.slope[:c.active], b, &m.weights[k], sign)
	}
}

// square adds b·A⁻¹b of the last evaluation, or takes it away.
func (m *mala) square(c *cloud, sign float64) {
	for k, b := range c.drift {
		addProduct(m.quadratic[:c.active], b, m.row(k, c.drift, c.active), sign)
	}
}

func addProduct(sum []float64, a, b *[lanes]float64, sign float64) {
	for l := range sum {
		sum[l] += sign * float64(a[l]*b[l])
	}
}

// accept takes the states back that are not accepted. One whose ratio is no number never is.
func (m *mala) accept(c *cloud) {
	m.taken++
	for l := range c.active {
		if math.Log(float64(m.sources[l].Uniform())) < m.ratio(c, l) {
			m.accepted[l]++
			continue
		}
		for k, x := range c.x {
			x[l] = c.before[k][l]
		}
	}
}

// ratio is the logarithm of that of a lane. Both parts are in proportion to A⁻¹, which is 1/T times that
// of the equation at temperature T.
func (m *mala) ratio(c *cloud, l int) float64 {
	r := float64(5./6*m.slope[l]) + float64(c.step.dt/2*m.quadratic[l])
	if c.ladder != nil {
		r *= c.ladder.cold[l]
	}
	return r
}

// Acceptance is how MALA accepts the first steps of the first chains of a system, as many as are simulated
// together, with the coldest replicas alone.
type Acceptance struct {
	// Part of the steps that is accepted. Around 0.57 states move farthest in many dimensions (Roberts and
	// Rosenthal, J. R. Stat. Soc. B 60, 1998).
	Part float64
	// Error is the mean error of the probability by which a step is accepted, as Gauss and Kronrod's rule
	// tells. It is large where the drift bends within a step.
	Error float64
}

// checkedSteps are those of which the error is measured.
const checkedSteps = 8

// Acceptance runs so many steps. By other integrators all are accepted. The potential of particles is known,
// so that there is no error.
func (e *Engine) Acceptance(ctx context.Context, system sde.System, s Scheme, steps int, seed, function uint64, purpose string) (Acceptance, error) {
	if s.Integrator != MALA {
		return Acceptance{Part: 1}, nil
	}
	stream := stream{seed, purpose, function}
	if p, ok := system.(sde.Particles); ok {
		part, err := e.malaAcceptance(ctx, p, s, steps, stream)
		return Acceptance{Part: part}, err
	}
	space, ok := system.(sde.Space)
	if !ok {
		return Acceptance{}, s.Fits(system)
	}
	return e.acceptanceInSpace(ctx, space, s, steps, stream)
}

func (e *Engine) acceptanceInSpace(ctx context.Context, system sde.Space, s Scheme, steps int, stream stream) (Acceptance, error) {
	potential, err := NewPotential(system)
	if err != nil {
		return Acceptance{}, err
	}
	c, err := e.firstChains(ctx, system, s, steps, stream)
	if err != nil {
		return Acceptance{}, err
	}
	m, a := c.steps.(*mala), Acceptance{}
	chains := float64(lanes / c.replicas)
	for l := 0; l < lanes; l += c.replicas {
		a.Part += float64(m.accepted[l]) / float64(steps) / chains
	}
	for range checkedSteps {
		c.move() // no state leaves its bounds
		a.Error += m.inaccuracy(c, system, potential) / checkedSteps
	}
	return a, nil
}

// inaccuracy is the mean error of the probabilities of the last step.
func (m *mala) inaccuracy(c *cloud, system sde.Space, potential *Potential) (mean float64) {
	const tolerance = 1e-3 // of a logarithm
	d := len(c.x)
	var from, to []float32
	var states []float64 // of each replica x and y
	for l := 0; l < lanes; l += c.replicas {
		for _, x := range c.before {
			from, states = append(from, float32(x[l])), append(states, x[l])
		}
		for _, y := range m.to {
			to, states = append(to, float32(y[l])), append(states, y[l])
		}
	}
	drift, _ := system.Coefficients(states)
	for i, rise := range potential.Rises(from, to, tolerance) {
		l, ends := i*c.replicas, 0. // g(0) + g(1)
		for k := range d {
			ends += (drift[2*i*d+k] + drift[(2*i+1)*d+k]) * m.weights[k][l]
		}
		right := m.ratio(c, l) - float64(5./6*m.slope[l]) - ends - rise
		mean += math.Abs(probability(m.ratio(c, l))-probability(right)) * float64(c.replicas) / lanes
	}
	return mean
}

// probability of an acceptance, of the logarithm of the ratio; none where that is no number.
func probability(ratio float64) float64 {
	if math.IsNaN(ratio) {
		return 0
	}
	return math.Exp(min(ratio, 0))
}

// stuckAfter steps without one that is accepted a chain counts as stuck.
const stuckAfter = 100

// stuck is an error of a chain that has never moved: an ErrStuck.
func (m *mala) stuck(c *cloud) error {
	if m.taken < stuckAfter {
		return nil
	}
	for l, n := range m.accepted[:c.active] {
		if n == 0 {
			return fmt.Errorf("function %d, chain %d: %w in %d steps of %g, from %.6g on",
				c.stream.function, (c.first+l)/c.replicas, ErrStuck, m.taken, c.step.dt, c.x[0][l])
		}
	}
	return nil
}
