package request

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/ergoflow/ergoflow/data/equations/gibbs"
	"github.com/ergoflow/ergoflow/data/equations/sde"
	"github.com/ergoflow/ergoflow/data/random"
	"github.com/ergoflow/ergoflow/data/simulation/mala"
	"github.com/ergoflow/ergoflow/model/sampling/certificate"
	"github.com/ergoflow/ergoflow/model/sampling/engine"
	"github.com/ergoflow/ergoflow/model/sampling/ode"
	"github.com/ergoflow/ergoflow/model/sampling/sampler"
	"github.com/ergoflow/ergoflow/model/sampling/smc"
	"github.com/ergoflow/ergoflow/model/sampling/weights"
)

// ErrNoWeights means that the density of the law is not known. The error says why.
var ErrNoWeights = errors.New("there are no importance weights")

// Weighing says how draws were weighed.
type Weighing struct {
	// Draws of the model, of which the samples are made.
	Draws int `json:"draws"`
	// ESS is the number of independent draws of the law that the samples are worth.
	ESS float64 `json:"ess"`
	// KHat is the shape of the Pareto law of the largest weights, of several stages the largest.
	// Below 0.7 means over the draws are reliable (Vehtari and others, arXiv 1507.02646).
	KHat float64 `json:"khat"`
	// Stages are those of sequential Monte Carlo, in the plane.
	Stages int `json:"stages,omitempty"`
	// Moves are steps of the Metropolis-adjusted Langevin algorithm after the weights, in the
	// plane and for particles.
	Moves *Moves `json:"moves,omitempty"`
	// Power is that to which the weights were taken, where they themselves would have left less
	// than half of the draws, and Noise the standard error of their logarithms: of particles.
	Power   float64 `json:"power,omitempty"`
	Noise   float64 `json:"noise,omitempty"`
	Seconds float64 `json:"seconds"`

	worth  float64 // independent draws that the samples are judged as
	folded float64 // part of the weights where the solver's map covers the line more than once
}

// Moves is a mala.Result under a name that is its own in the server's schema.
type Moves mala.Result

const (
	// drawsPerSample is how many draws of the model stand for a sample on the line: a draw comes
	// twice only if its weight is above so many times the mean.
	drawsPerSample = 4
	// mostKHat is the shape from which weights are unreliable.
	mostKHat = 0.7
	// mostShown stands for all larger shapes, and for that of too few draws, which is not known.
	mostShown = 1000
	// mostFolded is the part of the weights of draws where the solver's map covers space more than
	// once, without harm.
	mostFolded = 0.02
	// fewestWorth are the independent draws below which masses of wells are off by a tenth.
	fewestWorth = 100
)

// Weigh draws n samples of the target's law with draws of the model and their importance weights,
// density of the law over that of the model. The law is that of the formulas, or of the function's
// table. On the line samples are taken by their weights, and one may come more than once; in the
// plane stages of sequential Monte Carlo lead to the law (package smc); of particles draws are
// taken by a power of their weights, and Langevin steps follow. The certificate is of the samples,
// and doubts them where the weights are unreliable. It fails with ErrNoWeights where the density
// of the law is not known.
func (t Target) Weigh(ctx context.Context, e *engine.Engine, n int, solver ode.Solver, seed uint64) ([]float32, Weighing, certificate.Certificate, error) {
	begin := time.Now()
	x, w, doubt, err := t.weigh(ctx, e, n, solver, seed)
	if err != nil {
		if errors.Is(err, weights.ErrDegenerate) {
			err = fmt.Errorf("%w: no draw of the model is where its law has mass: %w", ErrUnlearned, err)
		}
		return nil, w, certificate.Certificate{}, err
	}
	judged := t
	judged.subject.Unlearned, judged.subject.Grid = math.NaN(), sde.Grid{}
	if doubt != "" {
		judged.subject.Doubt = doubt
	}
	c := judged.subject.CertifyDependent(x, t.Subject.Function.System.Dim(), min(float64(n), w.worth))
	w.Seconds, w.KHat = time.Since(begin).Seconds(), min(w.KHat, mostShown)
	return x, w, c, nil
}

// weigh draws the samples, and says why they may be wrong.
func (t Target) weigh(ctx context.Context, e *engine.Engine, n int, solver ode.Solver, seed uint64) (x []float32, w Weighing, doubt string, err error) {
	if t.subject.Equation == nil && t.subject.Law == nil {
		return nil, w, "", fmt.Errorf("%w: this is no invariant law with a known density", ErrNoWeights)
	}
	if equation, ok := t.onTheLine(); ok {
		x, w, err = t.byWeights(ctx, e, equation, n, solver, seed)
	} else if plane, ok := t.subject.Equation.(certificate.Plane); ok {
		x, w, err = t.byStages(ctx, e, plane, n, solver, seed)
	} else if particles, ok := t.Subject.Function.System.(sde.Particles); ok {
		x, w, err = t.byMoves(ctx, e, particles, n, solver, seed)
	} else {
		err = ErrNoWeights
	}
	switch {
	case err != nil:
		return nil, w, "", err
	case !(w.KHat < mostKHat):
		doubt = fmt.Sprintf("the importance weights are unreliable (Pareto k̂ %.2g): the model lacks a part of the law", w.KHat)
	case w.folded > mostFolded:
		doubt = fmt.Sprintf("%s of the weights are where the solver's steps fold the line: take more steps", percent(w.folded))
	case w.Stages > 0 && w.ESS < fewestWorth:
		doubt = fmt.Sprintf("the samples are worth %.0f independent draws: the model is far from the law", w.ESS)
	}
	return x, w, doubt, nil
}

// byWeights takes draws of the model on the line by their weights.
func (t Target) byWeights(ctx context.Context, e *engine.Engine, equation certificate.Line, n int, solver ode.Solver, seed uint64) (x []float32, w Weighing, err error) {
	w.Draws = min(drawsPerSample*n, sampler.MaxNumbers)
	var model []float64 // log density
	var folded []bool
	law, err := e.Law(ctx, t.Subject, solver)
	switch {
	case errors.Is(err, engine.ErrNoTable):
		var drawn sampler.Densities
		drawn, err = e.Density(ctx, sampler.Draw{Function: t.Subject, N: w.Draws, Seed: seed}, solver)
		x, model, folded = drawn.X, drawn.Log, drawn.Folded
		_, err = Checked(x, err)
	case err == nil:
		x, err = t.Draw(ctx, e, w.Draws, solver, seed)
		for _, v := range x {
			model = append(model, math.Log(law.PDF(float64(v))))
		}
	}
	if err != nil {
		return nil, w, err
	}
	logs := logDensity(equation, x)
	for i, v := range model {
		logs[i] = ratio(logs[i], v)
	}
	smoothed, k, err := weights.Smooth(logs)
	if err != nil {
		return nil, w, err
	}
	w.ESS, w.KHat = smoothed.ESS(), k
	w.worth = w.ESS
	for i, is := range folded {
		if is {
			w.folded += smoothed[i]
		}
	}
	kept := make([]float32, n)
	for j, i := range smoothed.Resample(n, random.New(seed, "request/weights")) {
		kept[j] = x[i]
	}
	return kept, w, nil
}

// ratio is the logarithm of a weight; −∞ where the model's density is zero but for rounding, or the
// law's is not finite.
func ratio(law, model float64) float64 {
	if r := law - model; !math.IsNaN(r) && !math.IsInf(r, 1) {
		return r
	}
	return math.Inf(-1)
}

// byStages carries smoothed draws of the model to the law in the plane.
func (t Target) byStages(ctx context.Context, e *engine.Engine, equation certificate.Plane, n int, solver ode.Solver, seed uint64) (x []float32, w Weighing, err error) {
	w.Draws = smc.Draws
	drawn, err := t.Draw(ctx, e, w.Draws, solver, seed)
	if err != nil {
		return nil, w, err
	}
	law, err := gibbs.NewPlane(equation.At, numbers(drawn))
	if err != nil {
		return nil, w, fmt.Errorf("%w: %w", ErrNoWeights, err)
	}
	x, r, err := smc.Run(ctx, drawn, law, n, seed)
	if errors.Is(err, smc.ErrStages) || errors.Is(err, mala.ErrStuck) {
		err = fmt.Errorf("%w: %w", ErrUnlearned, err)
	}
	w.ESS, w.KHat, w.Stages, w.Moves = r.Ancestors, r.KHat, r.Stages, (*Moves)(&r.Moves)
	w.worth = w.ESS
	return x, w, err
}

// moves are the Langevin steps of particles.
const moves = 500

// byMoves takes draws of particles by a power of their weights, and moves them.
func (t Target) byMoves(ctx context.Context, e *engine.Engine, particles sde.Particles, n int, solver ode.Solver, seed uint64) (x []float32, w Weighing, err error) {
	w.Draws = n
	drawn, err := e.Density(ctx, sampler.Draw{Function: t.Subject, N: n, Seed: seed}, solver)
	if _, err := Checked(drawn.X, err); err != nil {
		return nil, w, err
	}
	law := gibbs.NewParticles(particles)
	logs := law.At(numbers(drawn.X)).Log
	for i, v := range drawn.Log {
		logs[i] = ratio(logs[i], v)
	}
	w.Noise = drawn.Noise
	smoothed, k, err := weights.Smooth(logs)
	if err != nil {
		return nil, w, err
	}
	w.ESS, w.KHat = smoothed.ESS(), k
	tempered, power, err := weights.Temper(logs, 1, 0.5)
	if err != nil {
		return nil, w, err
	}
	w.Power, w.worth = power, tempered.ESS()
	d := particles.Dim()
	for _, i := range tempered.Resample(n, random.New(seed, "request/weights")) {
		x = append(x, drawn.X[i*d:(i+1)*d]...)
	}
	r, err := mala.Run(ctx, x, law, mala.Options{Steps: moves, Seed: seed})
	w.Moves = (*Moves)(&r)
	return x, w, err
}

// numbers are those of x in double precision.
func numbers(x []float32) []float64 {
	all := make([]float64, len(x))
	for i, v := range x {
		all[i] = float64(v)
	}
	return all
}

// onTheLine is the equation of the target, if it is on the line.
func (t Target) onTheLine() (certificate.Line, bool) {
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
