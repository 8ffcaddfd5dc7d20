package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/mala"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/sampling/weights"
)

const (
	perSample   = 2   // draws for each sample, as package smc carries
	langevin    = 100 // steps after the weights, as package smc takes
	manyMoves   = 500 // of particles, as package request takes
	fewestWorth = 0.5
)

// byFlow takes draws by weights whose density is that along the flow, and moves them. It is what
// package smc does not do, for comparison. ok is false where the density of the law is not known.
func (b *bench) byFlow(ctx context.Context, p problem) (x []float32, r row, ok bool, err error) {
	var law gibbs.Law
	n, steps := perSample*b.n, langevin
	if particles, is := p.chains.(sde.Particles); is {
		law, n, steps = gibbs.NewParticles(particles), b.n, manyMoves
	} else if p.equation.At == nil {
		return nil, r, false, nil
	}
	draw := sampler.Draw{Function: p.target.Subject, N: n, Seed: seed}
	if _, err := b.engine.Density(ctx, draw, b.solver); err != nil { // compiles
		return nil, r, false, err
	}
	begin := time.Now()
	q, err := b.engine.Density(ctx, draw, b.solver)
	if err != nil {
		return nil, r, false, err
	}
	states := make([]float64, len(q.X))
	for i, v := range q.X {
		states[i] = float64(v)
	}
	if law == nil {
		if law, err = gibbs.NewPlane(p.equation.At, states); errors.Is(err, gibbs.ErrNone) {
			return nil, r, false, nil
		}
	}
	logs := law.At(states).Log
	var mean, square float64
	for i, v := range q.Log {
		logs[i] -= v
		mean += logs[i] / float64(n)
		square += logs[i] * logs[i] / float64(n)
	}
	smoothed, k, err := weights.Smooth(logs)
	if err != nil {
		return nil, r, false, err
	}
	folded := 0.
	for i, is := range q.Folded {
		if is {
			folded += smoothed[i]
		}
	}
	taken := smoothed
	if b.d > 2 { // a single draw would be left
		if taken, _, err = weights.Temper(logs, 1, fewestWorth); err != nil {
			return nil, r, false, err
		}
	}
	for _, i := range taken.Resample(b.n, random.New(seed, "repair/flow")) {
		x = append(x, q.X[i*b.d:(i+1)*b.d]...)
	}
	if _, err := mala.Run(ctx, x, law, mala.Options{Steps: steps, Seed: seed}); err != nil {
		return nil, r, false, err
	}
	r = row{name: "model, weights along the flow", seconds: time.Since(begin).Seconds(),
		about: fmt.Sprintf(", ESS %.0f, k̂ %.2f, folded %.2g, log w ± %.0f, noise %.2g", smoothed.ESS(), k, folded, math.Sqrt(square-mean*mean), q.Noise)}
	return x, r, true, nil
}
