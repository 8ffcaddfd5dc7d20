// Package smc carries draws of a model to a law π of the plane whose density is known up to a
// constant, by sequential Monte Carlo (Del Moral, Doucet and Jasra 2006) as Sequential Boltzmann
// Generators do it (Tan and others, arXiv 2502.18462): through the laws
//
//	π_λ ∝ r^(1−λ) π^λ,  0 = λ₀ < λ₁ < … = 1,
//
// with weights (π/r)^(Δλ), resampling, and Langevin steps that keep π_λ. r is not the law of the
// model's samples but these with normal noise: so its density and its gradient are in closed form,
// the draws of r are independent, and no flow has to be differentiated
// (docs/decisions/repair.md).
package smc

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/mala"
	"github.com/ergoflow/ergoflow/model/sampling/weights"
)

// Draws of a model are smoothed: each costs a kernel at every state.
const Draws = 512

const (
	// perSample are the states that are carried for each sample.
	perSample = 2
	// fewest is the part of the states that the weights of one stage are worth.
	fewest = 0.5
	// stageSteps are the Langevin steps of a stage, and lastSteps those of the last.
	stageSteps, lastSteps = 10, 100
	mostStages            = 100
)

// Result says how draws were carried.
type Result struct {
	// Stages are the steps of λ.
	Stages int
	// KHat is the largest Pareto shape of the weights of a stage.
	KHat float64
	// Ancestors is the number of independent draws that the samples are worth, were the steps
	// between the stages of no use: n²/Σ(samples of a first state)² over these.
	Ancestors float64
	// Moves are those of the last stage.
	Moves mala.Result
}

// ErrStages means that π is too far from the draws.
var ErrStages = errors.New("the law is too far from the model's samples")

// Run draws n samples [n, 2] of π from draws of a model [m, 2], of which it takes Draws. They depend on the draws, π and
// the seed alone.
func Run(ctx context.Context, draws []float32, law gibbs.Law, n int, seed uint64) (x []float32, r Result, err error) {
	if law.Dim() != 2 {
		return nil, r, fmt.Errorf("smc: a law in %d dimensions", law.Dim())
	}
	base := smooth(draws)
	states := perSample * n
	r.KHat = math.Inf(-1)
	x = base.draw(states, seed)
	ancestors := make([]int, states)
	for i := range ancestors {
		ancestors[i] = i
	}
	rng := random.New(seed, "smc/resample")
	for left := 1.0; left > 0; {
		if r.Stages++; r.Stages > mostStages {
			return nil, r, fmt.Errorf("smc: %w", ErrStages)
		}
		logs, err := ratios(ctx, x, base, law)
		if err != nil {
			return nil, r, err
		}
		w, step, err := weights.Temper(logs, left, fewest)
		if err != nil {
			return nil, r, err
		}
		_, k, err := weights.Smooth(scaled(logs, step))
		if err != nil {
			return nil, r, err
		}
		r.KHat = max(r.KHat, k)
		left -= step
		keep, steps, at := states, stageSteps, gibbs.Law(tempered{law, base, 1 - left})
		if left == 0 {
			keep, steps, at = n, lastSteps, law
		}
		moved, from := make([]float32, 2*keep), make([]int, keep)
		for j, i := range w.Resample(keep, rng) {
			copy(moved[2*j:], x[2*i:2*i+2])
			from[j] = ancestors[i]
		}
		x, ancestors = moved, from
		r.Moves, err = mala.Run(ctx, x, at, mala.Options{Steps: steps, DT: r.Moves.DT, Seed: seed, Part: uint64(r.Stages)})
		if err != nil {
			return nil, r, err
		}
	}
	r.Ancestors = worth(ancestors)
	return x, r, nil
}

// scaled are the logarithms of weights to the power λ.
func scaled(logs []float64, lambda float64) []float64 {
	powers := make([]float64, len(logs))
	for i, v := range logs {
		powers[i] = lambda * v
	}
	return powers
}

// worth is n²/Σc² with the numbers c in which values come.
func worth(values []int) float64 {
	counts := map[int]int{}
	for _, v := range values {
		counts[v]++
	}
	var squares float64
	for _, c := range counts {
		squares += float64(c) * float64(c)
	}
	return float64(len(values)) * float64(len(values)) / squares
}
