package simulate

import (
	"context"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
)

// walker is a chain of particles by MALA. Its potential is the exact integral of the tabulated force, cap
// and all. It computes in double precision, by itself: a step takes as long as forty of a chain of a swarm.
type walker struct {
	langevin        *gibbs.Langevin
	at              gibbs.Points
	source          Source // of the noise and of the acceptances
	taken, accepted int    // steps
}

// walkers begin chains by MALA, at the states of Euler–Maruyama's chains after half of the burn-in: those leave
// places so steep that no step of MALA is accepted there.
func (e *Engine) walkers(ctx context.Context, p sde.Particles, s Scheme, stream stream) ([]*walker, error) {
	states := make([]float32, s.Chains*p.Dim())
	if err := e.particles(ctx, states, p, Scheme{DT: s.DT, BurnIn: s.BurnIn / 2, Thin: 1, Chains: s.Chains, Start: s.Start}, 1, stream); err != nil {
		return nil, err
	}
	law := gibbs.NewParticles(p)
	all := make([]*walker, s.Chains)
	for chain := range all {
		x := make([]float64, p.Dim())
		for k := range x {
			x[k] = float64(states[chain*len(x)+k])
		}
		all[chain] = &walker{
			langevin: gibbs.NewLangevin(law, 1), at: law.At(x),
			source: NewSource(stream.seed, stream.purpose+" by MALA", stream.function, uint64(chain)),
		}
	}
	return all, nil
}

// step takes a step, which may stay where it is.
func (w *walker) step(dt float64) {
	w.taken++
	w.langevin.Step(w.at, dt,
		func() float64 { return float64(Normal(w.source.Uint32())) },
		func() float64 { return float64(w.source.Uniform()) },
		func(int) { w.accepted++ })
}

// malaParticles simulates chains of particles by MALA.
func (e *Engine) malaParticles(ctx context.Context, dst []float32, p sde.Particles, s Scheme, perChain int, stream stream) error {
	walkers, err := e.walkers(ctx, p, s, stream)
	if err != nil {
		return err
	}
	d := p.Dim()
	for chain, w := range walkers {
		for j, next := 0, s.BurnIn-s.BurnIn/2; j < perChain; j, next = j+1, next+s.Thin {
			for w.taken < next {
				if err := ctx.Err(); err != nil {
					return err
				}
				w.step(s.DT)
			}
			if w.taken >= stuckAfter && w.accepted == 0 {
				return fmt.Errorf("function %d, chain %d: %w in %d steps of %g", stream.function, chain, ErrStuck, w.taken, s.DT)
			}
			for k, v := range w.at.X {
				if math.Abs(v) >= bound {
					return stream.diverged(divergence{step: w.taken, from: v, to: v}, chain)
				}
				dst[(chain*perChain+j)*d+k] = float32(v)
			}
		}
	}
	return nil
}

// malaAcceptance is the part of the steps that a few chains of particles accept, of so many after as many of
// Euler's.
func (e *Engine) malaAcceptance(ctx context.Context, p sde.Particles, s Scheme, steps int, stream stream) (float64, error) {
	s.Chains, s.BurnIn = 4, 2*steps
	walkers, err := e.walkers(ctx, p, s, stream)
	if err != nil {
		return 0, err
	}
	accepted := 0
	for _, w := range walkers {
		for range steps {
			w.step(s.DT)
		}
		accepted += w.accepted
	}
	return float64(accepted) / float64(s.Chains*steps), nil
}
