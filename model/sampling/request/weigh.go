package request

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/sampling/weights"
)

// ErrNoWeights means that the density of the law or that of the model is not known.
var ErrNoWeights = errors.New("there are no importance weights: the densities of the law and of the model are known on the line alone")

// Weighing says how draws were weighed.
type Weighing struct {
	// Draws of the model, of which the samples are a part.
	Draws int `json:"draws"`
	// ESS is the number of independent draws of the law that they are worth.
	ESS float64 `json:"ess"`
	// KHat is the shape of the Pareto law of the largest weights. Below 0.7 means over the
	// draws are reliable (Vehtari and others, arXiv 1507.02646).
	KHat    float64 `json:"khat"`
	Seconds float64 `json:"seconds"`
}

const (
	// drawsPerSample is how many draws of the model stand for a sample: a draw comes twice
	// only if its weight is above so many times the mean.
	drawsPerSample = 4
	// mostKHat is the shape from which weights are unreliable.
	mostKHat = 0.7
)

// Weigh draws n samples of the target's law: draws of the model, taken by their importance
// weights, density of the law over that of the model. The law is that of the formulas, or of the
// function's table. The certificate is of the samples, and doubts them where the weights are
// unreliable. A sample may come more than once.
func (t Target) Weigh(ctx context.Context, e *engine.Engine, n int, solver ode.Solver, seed uint64) ([]float32, Weighing, certificate.Certificate, error) {
	begin := time.Now()
	w := Weighing{Draws: min(drawsPerSample*n, sampler.MaxNumbers)}
	equation, ok := t.onTheLine()
	if !ok {
		return nil, w, certificate.Certificate{}, ErrNoWeights
	}
	model, err := e.Law(ctx, t.Subject, solver)
	switch {
	case errors.Is(err, engine.ErrNoTable):
		return nil, w, certificate.Certificate{}, ErrNoWeights
	case err != nil:
		return nil, w, certificate.Certificate{}, err
	}
	x, err := t.Draw(ctx, e, w.Draws, solver, seed)
	if err != nil {
		return nil, w, certificate.Certificate{}, err
	}
	logs := logDensity(equation, x)
	for i, v := range x {
		logs[i] -= math.Log(model.PDF(float64(v)))
		if math.IsNaN(logs[i]) || math.IsInf(logs[i], 1) { // the model's density is zero there but for rounding
			logs[i] = math.Inf(-1)
		}
	}
	smoothed, k, err := weights.Smooth(logs)
	if err != nil {
		return nil, w, certificate.Certificate{}, fmt.Errorf("%w: no draw of the model is where its law has mass: %w", ErrUnlearned, err)
	}
	w.ESS, w.KHat = smoothed.ESS(), k
	kept := make([]float32, n)
	for j, i := range smoothed.Resample(n, random.New(seed, "request/weights")) {
		kept[j] = x[i]
	}
	judged := t
	judged.subject.Unlearned, judged.subject.Grid = math.NaN(), sde.Grid{}
	if !(k < mostKHat) {
		judged.subject.Doubt = fmt.Sprintf("the importance weights are unreliable (Pareto k̂ %.2g): the model lacks a part of the law", k)
	}
	c := judged.subject.CertifyDependent(kept, 1, min(float64(n), w.ESS))
	w.Seconds = time.Since(begin).Seconds()
	return kept, w, c, nil
}

// onTheLine is the equation of the target, if it is on the line and has an invariant law.
func (t Target) onTheLine() (certificate.Line, bool) {
	if t.subject.Equation == nil && t.subject.Law == nil {
		return certificate.Line{}, false // a law at a time
	}
	if line, ok := t.subject.Equation.(certificate.Line); ok {
		return line, true
	}
	if c, ok := t.Subject.Function.System.(sde.Coefficients); ok {
		return certificate.OfTable(c), true
	}
	return certificate.Line{}, false
}

// stretches are how many the range of states is cut into for the integral of the potential.
const stretches = 1 << 13

// logDensity is the logarithm of the invariant density at the states x, up to a constant:
//
//	log π(x) = φ(x) − 2 log |σ(x)|,  φ′ = 2b/σ²
//
// φ is integrated by Simpson's rule on a grid over the states, and is the cubic with the right
// values and slopes between the nodes, so its error is of the fourth order in their distance.
func logDensity(e certificate.Line, x []float32) []float64 {
	lo, hi := float64(slices.Min(x)), float64(slices.Max(x))
	h := (hi - lo) / stretches
	if h == 0 {
		return make([]float64, len(x))
	}
	at := make([]float64, 2*stretches+1) // nodes and middles
	for i := range at {
		at[i] = lo + float64(i)*h/2
	}
	b, sigma := make([]float64, len(at)), make([]float64, len(at))
	e.Drift(b, at)
	e.Diffusion(sigma, at)
	slope := b
	for i := range slope {
		slope[i] = 2 * b[i] / (sigma[i] * sigma[i])
	}
	phi := make([]float64, stretches+1)
	for i := range stretches {
		phi[i+1] = phi[i] + h/6*(slope[2*i]+4*slope[2*i+1]+slope[2*i+2])
	}
	states := make([]float64, len(x))
	for i, v := range x {
		states[i] = float64(v)
	}
	logs := make([]float64, len(x))
	e.Diffusion(logs, states)
	for i, v := range states {
		k := min(int((v-lo)/h), stretches-1)
		u := (v - lo - float64(k)*h) / h
		rise, left, right := phi[k+1]-phi[k], h*slope[2*k], h*slope[2*k+2]
		logs[i] = phi[k] + u*(left+u*(3*rise-2*left-right+u*(left+right-2*rise))) - 2*math.Log(math.Abs(logs[i]))
	}
	return logs
}
