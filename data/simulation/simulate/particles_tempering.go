package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// exchange tries to exchange states of replicas whose turn it is. One is accepted with the probability
// min(1, exp((1/T − 1/T′)(V(x) − V(y)))), of x at T and y at T′.
func (w *swarm) exchange() {
	m := w.mala
	w.ladder.next(func(cold int, uniform float64) {
		hot := cold + 1
		rise := (w.perNoise(cold) - w.perNoise(hot)) * (w.energy(cold) - w.energy(hot))
		accepted := math.Log(uniform) < rise
		w.ladder.count(cold, accepted)
		if !accepted {
			return
		}
		for k := range w.x {
			x, f := &w.x[k], &m.f[k]
			x[cold], x[hot] = x[hot], x[cold]
			f[cold], f[hot] = f[hot], f[cold]
		}
		m.potential[cold], m.potential[hot] = m.potential[hot], m.potential[cold]
	})
}

// energy is V of a lane, times 2Δt·unit².
func (w *swarm) energy(l int) float64 {
	v := w.mala.potential[l]
	for k := range w.x {
		x := float64(w.x[k][l])
		v += float64(float64(w.table.trap) * x * x)
	}
	return v
}

// Temper moves the states x [chains, p.Dim()] by MALA, each with replicas at higher temperatures that begin at
// the same state. For so many quiet steps, in which the hot ones melt, they exchange nothing, and then steps with
// exchanges follow. The time step is the AcceptedStep from the first states, at most dt; it is returned with the
// mean of 2V/Noise² of every chain over the second half of the steps with exchanges. Chains run on GOMAXPROCS
// goroutines, on which nothing depends. The contents of x are undefined after an error.
func (e *Engine) Temper(
	ctx context.Context, x []float32, p sde.Particles, dt float64, t Tempering, quiet, steps int, seed, function uint64, purpose string,
) (means []float64, accepted float64, err error) {
	const tried = 64 // states
	d := p.Dim()
	if dt, err = e.AcceptedStep(ctx, x[:min(len(x), tried*d)], p, dt, seed, function, purpose); err != nil {
		return nil, 0, err
	}
	s, err := continued(len(x), d, dt, steps)
	if err != nil {
		return nil, 0, fmt.Errorf("function %d: %w", function, err)
	}
	s.Integrator, s.Tempering, s.BurnIn = MALA, t, 0
	if err := s.Fits(p); err != nil {
		return nil, 0, fmt.Errorf("function %d: %w", function, err)
	}
	stream := stream{seed, purpose, function}
	means = make([]float64, s.Chains)
	width := widest / s.Tempering.Replicas()
	return means, dt, Each(ctx, (s.Chains+width-1)/width, func(ctx context.Context, block int) error {
		first := block * width
		chains := min(width, s.Chains-first)
		w := newSwarm(e, p, s)
		w.active, w.given = chains*w.replicas, x
		if err := w.begin(s.Start, first, stream); err != nil {
			return err
		}
		ladder := w.ladder
		for step := range quiet + steps {
			w.ladder = nil
			if step >= quiet {
				w.ladder = ladder
			}
			if err := w.step(ctx, s, step, first, stream); err != nil {
				return err
			}
			for c := 0; c < chains && step >= quiet+steps/2; c++ {
				l := c * w.replicas
				means[first+c] += w.perNoise(l) * w.energy(l) / float64(steps-steps/2)
			}
		}
		w.record(x[first*d:], d)
		return nil
	}, nil)
}
