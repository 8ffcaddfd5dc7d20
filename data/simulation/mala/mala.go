// Package mala moves states by the Metropolis-adjusted Langevin algorithm (Roberts and Tweedie
// 1996): steps of the equation itself, as Euler and Maruyama take them,
//
//	y = x + h b(x) + √h σξ,  b = ½A ∇ log π,
//
// each accepted with the probability min(1, π(y)q(x|y) / π(x)q(y|x)). π is invariant whatever the
// step h, where Euler–Maruyama chains have a bias of the order of h.
package mala

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// Options say how states are moved.
type Options struct {
	Steps int
	// DT is the first time step; 0 is a part of the time in which noise crosses the states.
	DT   float64
	Seed uint64
	// Part tells several runs of one seed apart.
	Part uint64
}

// Result says how the states were moved.
type Result struct {
	Steps int `json:"steps"`
	// DT is the time step, in the equation's unit of time.
	DT float64 `json:"dt"`
	// Accepted is the part of the steps with DT that were.
	Accepted float64 `json:"accepted"`
}

const (
	// wanted is the acceptance at which MALA moves furthest in many dimensions (Roberts and
	// Rosenthal 1998).
	wanted = 0.574
	// The time step is found in rounds of so many steps. Between them it changes by a factor
	// exp(pace·(accepted − wanted)).
	roundSteps = 5
	pace       = 2
	// firstPart of s²/σ² is the first time step.
	firstPart = 0.1
	// together are the numbers that a goroutine moves at a time.
	together = 1 << 10
)

// ErrStuck means that no step was accepted.
var ErrStuck = errors.New("no step of the chains was accepted")

// Run moves the states x [n, d] by steps of the algorithm, in place. In the first half of them
// the time step follows the acceptance over all states; then it stays, so that the last half has
// exactly π as its invariant law. The states depend on seed, x and the law alone.
func Run(ctx context.Context, x []float32, law gibbs.Law, o Options) (r Result, err error) {
	d := law.Dim()
	if len(x) == 0 || len(x)%d != 0 || o.Steps < 1 {
		return r, fmt.Errorf("mala: %d steps of %d numbers, which are states of %d", o.Steps, len(x), d)
	}
	n, size := len(x)/d, max(1, together/d)
	swarm := make([]gibbs.Points, (n+size-1)/size)
	err = simulate.Each(ctx, len(swarm), func(_ context.Context, k int) error {
		part := x[k*size*d : min((k+1)*size, n)*d]
		states := make([]float64, len(part))
		for i, v := range part {
			states[i] = float64(v)
		}
		swarm[k] = law.At(states)
		return nil
	}, nil)
	if err != nil {
		return r, err
	}
	r = Result{Steps: o.Steps, DT: o.DT}
	if r.DT == 0 {
		r.DT = firstStep(x, law)
	}
	left, round := o.Steps, uint64(0)
	for ; left-roundSteps >= o.Steps/2; left, round = left-roundSteps, round+1 {
		if r.Accepted, err = advance(ctx, swarm, law, r.DT, roundSteps, o, round); err != nil {
			return r, err
		}
		r.DT *= math.Exp(pace * (r.Accepted - wanted))
	}
	if r.Accepted, err = advance(ctx, swarm, law, r.DT, left, o, round); err != nil {
		return r, err
	}
	if r.Accepted == 0 {
		return r, fmt.Errorf("mala: %w", ErrStuck)
	}
	for k, p := range swarm {
		for i, v := range p.X {
			x[k*size*d+i] = float32(v)
		}
	}
	return r, nil
}

// firstStep is a part of the time in which noise alone crosses the states.
func firstStep(x []float32, law gibbs.Law) float64 {
	d := law.Dim()
	mean, square := make([]float64, d), make([]float64, d)
	n := float64(len(x) / d)
	for i, v := range x {
		mean[i%d] += float64(v) / n
	}
	for i, v := range x {
		square[i%d] += (float64(v) - mean[i%d]) * (float64(v) - mean[i%d]) / n
	}
	deviations := make([]float64, d)
	for k, v := range square {
		deviations[k] = math.Sqrt(v)
	}
	if h := firstPart * law.Quadratic(deviations) / float64(d); h > 0 && !math.IsInf(h, 0) {
		return h
	}
	return firstPart // one state, or equal ones: rounds find the step
}

// advance takes steps of h, with noise of the round, and returns the part that was accepted.
func advance(ctx context.Context, swarm []gibbs.Points, law gibbs.Law, h float64, steps int, o Options, round uint64) (accepted float64, err error) {
	counts, all := make([]int, len(swarm)), 0
	err = simulate.Each(ctx, len(swarm), func(ctx context.Context, k int) error {
		rng := random.New(o.Seed, "mala", o.Part, round, uint64(k))
		moves := gibbs.NewLangevin(law, len(swarm[k].Log))
		for range steps {
			if err := ctx.Err(); err != nil {
				return err
			}
			moves.Step(swarm[k], h, rng.NormFloat64, rng.Float64, func(int) { counts[k]++ })
		}
		return nil
	}, nil)
	total := 0
	for k, p := range swarm {
		total += counts[k]
		all += len(p.Log) * steps
	}
	return float64(total) / float64(all), err
}
