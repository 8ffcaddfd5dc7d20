package simulate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// swarmMALA is what chains of particles by MALA have beside those by Euler's steps. Their potential is the
// integral of the tabulated force, cap and all, in single precision: errors of 1e-6 of it change the law by as
// much, whatever the number of steps.
type swarmMALA struct {
	f         []vector        // the forces at x; those of swarm are at next
	u         []vector        // potentials at next, of every particle
	potential [widest]float64 // at x
	weights   vector          // of a step
	sources   [widest]Source  // of the acceptances
	accepted  [widest]int     // steps
	taken     int             // steps
}

func newSwarmMALA(d int) *swarmMALA {
	return &swarmMALA{f: make([]vector, d), u: make([]vector, d/2)}
}

// beginMALA has the forces and potentials of the first states.
func (w *swarm) beginMALA(ctx context.Context, first int, stream stream) error {
	m := w.mala
	m.taken, m.accepted = 0, [widest]int{}
	for l := range m.sources {
		m.sources[l] = NewSource(stream.seed, stream.purpose+" acceptances", stream.function, uint64(first*w.replicas+l))
	}
	clear(m.f)
	clear(m.u)
	if err := w.forces(ctx, m.f, w.x, m.u); err != nil {
		return err
	}
	for l := range w.active {
		m.potential[l] = m.sum(l)
	}
	return nil
}

// sum is the potential in a lane.
func (m *swarmMALA) sum(l int) (v float64) {
	for i := range m.u {
		v += float64(m.u[i][l])
	}
	return v
}

// metropolis takes a step, after which a chain may be where it was. A step whose ratio is no number is not
// accepted.
func (w *swarm) metropolis(ctx context.Context, step, first int, stream stream) error {
	m := w.mala
	copy(w.f, m.f)
	inside := w.move(w.f)
	clear(m.u)
	if err := w.forces(ctx, w.f, w.next, m.u); err != nil {
		return err
	}
	clear(m.weights[:])
	w.engine.weigh(w.table, &m.weights, w.next, w.f, m.f, w.x, w.active)
	m.taken++
	for l := range w.active {
		potential := m.sum(l)
		ratio := w.perNoise(l) * (float64(m.weights[l])/2 + m.potential[l] - potential)
		if math.Log(float64(m.sources[l].Uniform())) < ratio {
			m.accepted[l]++
			m.potential[l] = potential
			continue
		}
		for k := range w.x {
			w.next[k][l], w.f[k][l] = w.x[k][l], m.f[k][l]
		}
	}
	w.x, w.next = w.next, w.x
	w.f, m.f = m.f, w.f
	return w.bounded(inside, step, first, stream)
}

// stuck is an error of a chain that has never moved by MALA: an ErrStuck.
func (w *swarm) stuck(dt float64, first int, stream stream) error {
	if w.mala == nil || w.mala.taken < stuckAfter {
		return nil
	}
	for l, n := range w.mala.accepted[:w.active] {
		if n == 0 {
			return fmt.Errorf("function %d, chain %d: %w in %d steps of %g", stream.function, first+l/w.replicas, ErrStuck, w.mala.taken, dt)
		}
	}
	return nil
}

// Adjust moves the states x [chains, p.Dim()] by steps of MALA, every state along a chain of its own, and returns
// the part of the steps that is accepted. The contents of x are undefined after an error.
func (e *Engine) Adjust(
	ctx context.Context, x []float32, p sde.Particles, dt float64, steps int, seed, function uint64, purpose string,
) (accepted float64, err error) {
	if err := p.Validate(); err != nil {
		return 0, fmt.Errorf("function %d: %w", function, err)
	}
	s, err := continued(len(x), p.Dim(), dt, steps)
	if err != nil {
		return 0, fmt.Errorf("function %d: %w", function, err)
	}
	s.Integrator, s.BurnIn = MALA, 0 // MALA's steps begin after half of the burn-in
	w := newSwarm(e, p, s)
	stream, taken := stream{seed, purpose, function}, 0
	for first := 0; first < s.Chains; first += widest {
		w.active, w.given = min(widest, s.Chains-first), x
		if err := w.begin(s.Start, first, stream); err != nil {
			return 0, err
		}
		for step := range steps {
			if err := w.step(ctx, s, step, first, stream); err != nil {
				return 0, err
			}
		}
		w.record(x[first*p.Dim():], p.Dim())
		for _, n := range w.mala.accepted[:w.active] {
			taken += n
		}
	}
	return float64(taken) / float64(s.Chains*steps), nil
}

// AcceptedStep is the largest of dt, dt/2, dt/4 and so on of which MALA accepts half from the states
// x [chains, p.Dim()], which stay as they are.
func (e *Engine) AcceptedStep(
	ctx context.Context, x []float32, p sde.Particles, dt float64, seed, function uint64, purpose string,
) (float64, error) {
	const steps, halvings = 200, 20
	for range halvings {
		accepted, err := e.Adjust(ctx, slices.Clone(x), p, dt, steps, seed, function, purpose)
		if err != nil {
			return 0, err
		}
		if accepted >= 0.5 {
			return dt, nil
		}
		dt /= 2
	}
	return 0, fmt.Errorf("function %d: %w, with %d different time steps", function, ErrStuck, halvings)
}

// perNoise has energies of a lane, times 2Δt·unit², in units of its temperature.
func (w *swarm) perNoise(l int) float64 {
	noise := float64(w.table.noise[l])
	return 1 / (noise * noise)
}

// firstSwarm runs the first chains of particles, at most as many as are simulated together, for so many steps
// after as many of Euler's.
func (e *Engine) firstSwarm(ctx context.Context, p sde.Particles, s Scheme, chains, steps int, stream stream) (*swarm, error) {
	w := newSwarm(e, p, s)
	w.active = chains * w.replicas
	s.BurnIn = 2 * steps
	if err := w.begin(s.Start, 0, stream); err != nil {
		return nil, err
	}
	for step := range s.BurnIn {
		if err := w.step(ctx, s, step, 0, stream); err != nil {
			return nil, err
		}
	}
	return w, nil
}

// malaAcceptance is the part of the steps that a few chains of particles accept.
func (e *Engine) malaAcceptance(ctx context.Context, p sde.Particles, s Scheme, steps int, stream stream) (float64, error) {
	s.Tempering = Tempering{}
	w, err := e.firstSwarm(ctx, p, s, 4, steps, stream)
	if err != nil {
		return 0, err
	}
	accepted := 0
	for _, n := range w.mala.accepted[:w.active] {
		accepted += n
	}
	return float64(accepted) / float64(w.active*steps), nil
}
