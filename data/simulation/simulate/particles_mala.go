package simulate

import (
	"context"
	"fmt"
	"math"

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
		m.sources[l] = NewSource(stream.seed, stream.purpose+" acceptances", stream.function, uint64(first+l))
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
	perNoise := 1 / (float64(w.table.noise) * float64(w.table.noise))
	for l := range w.active {
		potential := m.sum(l)
		ratio := perNoise * (float64(m.weights[l])/2 + m.potential[l] - potential)
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
			return fmt.Errorf("function %d, chain %d: %w in %d steps of %g", stream.function, first+l, ErrStuck, w.mala.taken, dt)
		}
	}
	return nil
}

// malaAcceptance is the part of the steps that a few chains of particles accept, of so many after as many of
// Euler's.
func (e *Engine) malaAcceptance(ctx context.Context, p sde.Particles, s Scheme, steps int, stream stream) (float64, error) {
	w := newSwarm(e, p, MALA, s.DT)
	w.active = 4
	s.BurnIn = 2 * steps
	if err := w.begin(s.Start, 0, stream); err != nil {
		return 0, err
	}
	accepted := 0
	for step := range s.BurnIn {
		if err := w.step(ctx, s, step, 0, stream); err != nil {
			return 0, err
		}
	}
	for _, n := range w.mala.accepted[:w.active] {
		accepted += n
	}
	return float64(accepted) / float64(w.active*steps), nil
}
