package smc

import (
	"context"
	"math"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/simulation/simulate"
)

// tempered is the law π_λ ∝ r^(1−λ) π^λ, with the noise of π's equation.
type tempered struct {
	gibbs.Law
	base   *smoothed
	lambda float64
}

// At combines both.
func (t tempered) At(x []float64) gibbs.Points { return t.combine(t.Law.At(x)) }

// Next combines both.
func (t tempered) Next(p gibbs.Points, x []float64) gibbs.Points {
	return t.combine(t.Law.Next(p.Parts[0], x))
}

func (t tempered) combine(law gibbs.Points) gibbs.Points {
	base := t.base.at(law.X)
	p := gibbs.Points{X: law.X, Log: make([]float64, len(law.Log)), Gradient: make([]float64, len(law.Gradient)), Parts: []gibbs.Points{law, base}}
	for i := range p.Log {
		p.Log[i] = (1-t.lambda)*base.Log[i] + t.lambda*law.Log[i]
	}
	for i := range p.Gradient {
		p.Gradient[i] = (1-t.lambda)*base.Gradient[i] + t.lambda*law.Gradient[i]
	}
	return p
}

// part are the states of one goroutine.
const part = 1 << 9

// ratios are log π/r at states x [n, 2]; −∞ where π is not finite.
func ratios(ctx context.Context, x []float32, base *smoothed, law gibbs.Law) ([]float64, error) {
	n := len(x) / 2
	logs := make([]float64, n)
	err := simulate.Each(ctx, (n+part-1)/part, func(_ context.Context, k int) error {
		first, last := k*part, min((k+1)*part, n)
		states := make([]float64, 2*(last-first))
		for i := range states {
			states[i] = float64(x[2*first+i])
		}
		p, r := law.At(states), base.at(states)
		for i := range p.Log {
			if logs[first+i] = p.Log[i] - r.Log[i]; math.IsNaN(logs[first+i]) || math.IsInf(logs[first+i], 1) {
				logs[first+i] = math.Inf(-1)
			}
		}
		return nil
	}, nil)
	return logs, err
}
